import edgeret.BeginOptions;
import edgeret.Candidate;
import edgeret.Decision;
import edgeret.EdgeretException;
import edgeret.EdgeretException.Code;
import edgeret.Encoding;
import edgeret.Explanation;
import edgeret.Hit;
import edgeret.LoadOptions;
import edgeret.Model;
import edgeret.NextOptions;
import edgeret.SearchOptions;
import edgeret.Task;
import edgeret.Tokens;
import edgeret.ToolChange;
import java.nio.ByteBuffer;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** What the binding promises in one thread, for tests/core/test_java.py: Checks CONFORMANCE EMPTY-FOLDER. */
public final class Checks {
    private static final String QUERY = "find my file and send a mail";
    private static final SearchOptions HYBRID = SearchOptions.DEFAULT.strategy(SearchOptions.Strategy.HYBRID);
    private static final String DOOR =
            "{\"name\": \"lock_door\", \"description\": \"lock the door of the house\", \"examples\": [\"is it lockéd?\"], \"confirm\": true}";

    private final Path bundle;
    private final Path scratch;

    private Checks(Path conformance, Path scratch) {
        bundle = conformance.resolve("few");
        this.scratch = scratch;
    }

    public static void main(String[] given) throws Exception {
        Checks checks = new Checks(Path.of(given[0]), Path.of(given[1]));
        checks.steps();
        checks.arguments();
        checks.options();
        checks.bundles();
        checks.folders();
        checks.tools();
        checks.letters();
        checks.ownEncoder();
        checks.conversations();
        checks.why();
        checks.closed();
        System.out.println("all fine");
    }

    private void steps() {
        try (Model model = Model.load(bundle);
                Task task = model.begin(QUERY);
                Task narrow = model.begin(QUERY, only("write_note", "phone_call"))) {
            Decision first = task.next();
            same("find_file", first.tool());
            same("find_file", first.best());
            same(Decision.Reason.PROBABLE, first.reason());
            task.fail("find_file");
            check(!"find_file".equals(task.next().tool()), "what failed is left out");
            task.retry("find_file");
            same("find_file", task.next().tool());
            task.fail("find_file");
            task.undo();
            same(first, task.next());
            try (Task fork = task.fork()) {
                task.call("find_file");
                same("send_mail", task.next().tool());
                same(first, fork.next());
                fork.call("a stranger's tool");
                fork.next();
            }
            same(2, task.candidates(2).size());
            same(0, task.candidates(0).size());
            same(model.tools().size() + 1, task.candidates(1000).size());
            narrow.next();
            for (Candidate one : narrow.candidates(100))
                check(one.tool() == null || List.of("write_note", "phone_call").contains(one.tool()), one + " is not allowed");
            same(3, model.search(QUERY, 3).size());
            same(0, model.search(QUERY, 0).size());
            double shares = 0;
            for (Hit hit : model.search(QUERY, 1000, HYBRID)) shares += hit.share();
            check(Math.abs(shares - 1) < 1e-6, "shares sum to " + shares);
        }
    }

    private void arguments() {
        try (Model model = Model.load(bundle); Task task = model.begin(QUERY)) {
            refused(Code.INPUT, "query: empty", () -> model.begin("  "));
            refused(Code.INPUT, "at most 20000", () -> model.begin("a".repeat(20_001)));
            refused(Code.INPUT, "unknown tool \"nobody\"; model.tools() lists", () -> model.begin("a", only("nobody")));
            refused(Code.INPUT, "unknown tool \"a\\u001b[31m\\u202e\\u0000\"", () -> model.definition("a\u001b[31m\u202e\0"));
            refused(Code.INPUT, "allowed is empty", () -> model.begin("a", only()));
            refused(Code.INPUT, "k must be 0 or more, found -1", () -> model.search("a", -1));
            refused(Code.INPUT, "k must be 0 or more", () -> task.candidates(-1));
            refused(Code.INPUT, "er_next", () -> task.candidates(1));
            refused(Code.INPUT, "unknown tool", () -> task.fail("nobody"));
            refused(Code.INPUT, "without a name", () -> task.call(""));
            refused(Code.INPUT, "\"<end>\" is no name", () -> task.call("<end>"));
            refused(Code.INPUT, "nothing to undo", task::undo);
            for (int i = 0; i < 256; i++) task.call("find_file");
            refused(Code.FULL, "256 calls", () -> task.call("find_file"));
            missing("query", () -> model.begin(null));
            missing("tool", () -> task.call(null));
            missing("tool", () -> model.begin("a", only((String) null)));
            missing("add", () -> model.withTools(new ToolChange().add((String) null)));
        }
    }

    private void options() {
        NextOptions usual = NextOptions.DEFAULT;
        try (Model model = Model.load(bundle); Task task = model.begin("zebra")) {
            Decision unsure = task.next(usual.minProbability(0.99));
            check(unsure.abstained() && unsure.tool() == null && unsure.best() != null, unsure + " is sure");
            same(Decision.Reason.UNSURE, unsure.reason());
            same(unsure.best(), task.next(usual.minProbability(0.99).heads()).tool());
            check(task.next(usual.minProbability(0)).floor() <= 0, "0 is no floor");
            same(0.9, task.next(usual.minProbability(0.9)).floor());
            refused(Code.INPUT, "risk", () -> task.next(usual.risk(0.9)));
            refused(Code.INPUT, "min_probability", () -> task.next(usual.minProbability(1.1)));
            refused(Code.INPUT, "min_probability", () -> task.next(usual.minProbability(Double.NaN)));
            LoadOptions hashed = LoadOptions.DEFAULT.contentHash(model.contentHash()).threads(2).mostLoss(0.01);
            Model.load(bundle, hashed).close();
            refused(Code.BUNDLE, "another bundle", () -> Model.load(bundle, hashed.contentHash("0".repeat(64))));
            refused(Code.INPUT, "threads must be 1 to", () -> Model.load(bundle, LoadOptions.DEFAULT.threads(0)));
        }
    }

    private Map<String, Object> contents() throws Exception {
        Map<String, Object> files = new HashMap<>();
        try (Stream<Path> all = Files.list(bundle)) {
            for (Path file : (Iterable<Path>) all::iterator) files.put(file.getFileName().toString(), Files.readAllBytes(file));
        }
        return files;
    }

    private void bundles() throws Exception {
        Map<String, Object> files = contents();
        Model model = Model.load(files);
        Task task = model.begin(QUERY);
        model.close();
        for (Object content : files.values()) java.util.Arrays.fill((byte[]) content, (byte) 0); // they were copied
        same("find_file", task.next().tool());
        task.close();

        Map<String, Object> kinds = contents();
        for (String name : List.copyOf(kinds.keySet())) {
            byte[] content = (byte[]) kinds.get(name);
            ByteBuffer padded = name.length() % 2 == 0 ? ByteBuffer.allocate(content.length + 2) : ByteBuffer.allocateDirect(content.length + 2);
            padded.position(1);
            padded.put(content).flip().position(1);
            kinds.put(name, name.length() % 3 == 0 ? padded : padded.asReadOnlyBuffer()); // at odd addresses, too
        }
        kinds.put("LICENSE", "not looked at");
        try (Model other = Model.load(kinds); Task again = other.begin(QUERY)) {
            same("find_file", again.next().tool());
        }

        refused(Code.BUNDLE, "no file \"manifest\"", () -> Model.load(Map.of()));
        refused(Code.INPUT, "manifest: expected a byte[] or a ByteBuffer, found java.lang.String", () -> Model.load(Map.of("manifest", "x")));
        refused(Code.BUNDLE, "manifest", () -> Model.load(Map.of("manifest", new byte[0])));
        refused(Code.BUNDLE, "manifest", () -> Model.files(new byte[10], LoadOptions.DEFAULT));
        Map<String, Object> damaged = contents();
        ((byte[]) damaged.get("head.msgpack"))[100] ^= 1;
        refused(Code.BUNDLE, "head", () -> Model.load(damaged));
        Map<String, Object> part = contents();
        part.remove("head.msgpack");
        refused(Code.FILE, "head.msgpack", () -> Model.load(part));
        check(Model.files((byte[]) contents().get("manifest"), LoadOptions.DEFAULT).contains("head.msgpack"), "files of a bundle");
    }

    private void folders() throws Exception {
        refused(Code.FILE, "nothing-here", () -> Model.load(scratch.resolve("nothing-here")));
        refused(Code.FILE, "manifest", () -> Model.load(scratch));
        Path odd = Files.createDirectory(scratch.resolve("b ü 100% 😀"));
        Path zip = scratch.resolve("bundle.zip");
        Map<String, Object> files = contents();
        for (String name : files.keySet()) Files.write(odd.resolve(name), (byte[]) files.get(name));
        Model.load(odd).close();
        try (FileSystem packed = FileSystems.newFileSystem(zip, Map.of("create", "true"))) {
            Path inside = Files.createDirectory(packed.getPath("few"));
            for (String name : files.keySet()) Files.copy(odd.resolve(name), inside.resolve(name), StandardCopyOption.REPLACE_EXISTING);
            Model.load(inside).close();
            Files.delete(inside.resolve("head.msgpack"));
            refused(Code.FILE, "head.msgpack: cannot be read", () -> Model.load(inside));
        }
    }

    private void tools() throws Exception {
        for (Model model : List.of(Model.load(bundle), Model.load(contents()))) {
            Model grown = model.withTools(new ToolChange().add(DOOR));
            same("lock_door", grown.tools().get(model.tools().size()));
            check(grown.definition("lock_door").contains("lockéd"), grown.definition("lock_door"));
            Model less = grown.withTools(new ToolChange().remove("lock_door", model.tools().get(0)));
            Model same = model.withTools(new ToolChange());
            model.close();
            grown.close();
            same.close();
            same(grown.tools().subList(1, model.tools().size()), less.tools());
            try (Task task = less.begin(QUERY)) {
                task.call(model.tools().get(0));
                task.next();
                same(less.tools().size() + 1, task.candidates(1000).size());
            }
            refused(Code.INPUT, "remove: unknown tool \"nobody\"", () -> less.withTools(new ToolChange().remove("nobody")));
            refused(Code.INPUT, "add, item 1: not JSON", () -> less.withTools(new ToolChange().add("{")));
            refused(Code.INPUT, "no tool would be left", () -> less.withTools(new ToolChange().remove(less.tools().toArray(new String[0]))));
            String[] many = new String[3000];
            for (int i = 0; i < many.length; i++) many[i] = "{\"name\": \"tool_" + i + "\", \"description\": \"does " + i + "\"}";
            less.withTools(new ToolChange().add(many)).close();
            less.close();
        }
    }

    /** Beyond U+FFFF JNI's own strings are no UTF-8, and U+0000 has two bytes in them. */
    private void letters() {
        String name = "öffne_😀_門";
        String definition = "{\"name\": \"" + name + "\", \"description\": \"\\ud83d\\ude00 𝔘nicode 😀 door\"}";
        try (Model model = Model.load(bundle); Model grown = model.withTools(new ToolChange().add(definition))) {
            same(name, grown.tools().get(model.tools().size()));
            check(grown.definition(name).contains("𝔘nicode 😀 door"), grown.definition(name));
            try (Task task = grown.begin("😀 𝔘nicode door, öffne 門\0 now", only(name))) {
                same(name, task.next().best());
                task.fail(name);
                task.retry(name);
                task.call("😀".repeat(100));
            }
            Tokens tokens = model.tokens("😀 find 𝔘 file");
            int last = tokens.ids().length - 1;
            check(tokens.ends()[last] == "😀 find 𝔘 file".codePointCount(0, "😀 find 𝔘 file".length()), "places are code points");
            refused(Code.INPUT, "unknown tool \"😀𝔘\"", () -> model.definition("😀𝔘"));
            String half = "\ud83d";
            refused(Code.INPUT, "query: holds half a surrogate pair", () -> model.begin("find " + half));
            refused(Code.INPUT, "tool: holds half a surrogate pair", () -> model.definition(half + "a"));
            refused(Code.INPUT, "add: holds half a surrogate pair", () -> model.withTools(new ToolChange().add(half)));
        }
    }

    private void ownEncoder() {
        try (Model model = Model.load(bundle); Task usual = model.begin(QUERY)) {
            BeginOptions usually = BeginOptions.DEFAULT;
            Tokens tokens = model.tokens(QUERY);
            int count = tokens.ids().length, dimension = model.dimension();
            float[] rows = new float[count * dimension], whole = model.encode(QUERY);
            for (int i = 0; i < count; i++) {
                float[] word = model.encode(QUERY.substring(tokens.begins()[i], tokens.ends()[i]));
                System.arraycopy(word, 0, rows, i * dimension, dimension);
            }
            Encoding encoding = new Encoding(whole, rows, tokens.begins(), tokens.ends());
            try (Task task = model.begin(QUERY, usually.encoding(encoding))) {
                same(usual.next().tool(), task.next().tool());
            }
            refused(Code.INPUT, "needs as many of each token", () -> new Encoding(whole, new float[3], tokens.begins(), tokens.ends()));
            refused(Code.INPUT, "needs as many of each token", () -> new Encoding(whole, rows, tokens.begins(), new int[1]));
            Encoding narrow = new Encoding(new float[] {1}, new float[count], tokens.begins(), tokens.ends());
            refused(Code.INPUT, "an encoding of 1 numbers", () -> model.begin(QUERY, usually.encoding(narrow)));
            Encoding nothing = new Encoding(new float[dimension], rows, tokens.begins(), tokens.ends());
            refused(Code.INPUT, "length 0", () -> model.begin(QUERY, usually.encoding(nothing)));
            int[] far = new int[count];
            java.util.Arrays.fill(far, -1);
            try (Task task = model.begin(QUERY, only("find_file").encoding(new Encoding(whole, rows, far, far)))) {
                task.next();
            }
        }
    }

    private void conversations() {
        try (Model model = Model.load(bundle)) {
            List<List<String>> turns = new ArrayList<>(List.of(List.of("find_file")));
            BeginOptions later = BeginOptions.DEFAULT.earlier(turns);
            turns.add(List.of());
            try (Task next = model.begin("and mail it", later);
                    Task again = model.begin("and mail it", BeginOptions.DEFAULT.earlier(turns));
                    Task alone = model.begin("and mail it")) {
                same(next.next(), again.next());
                check(!alone.next().equals(next.next()), "the turn before says nothing");
            }
            model.begin("and mail it", BeginOptions.DEFAULT.earlier(List.of())).close();
            refused(Code.INPUT, "earlier: holds half a surrogate", () -> model.begin("it", BeginOptions.DEFAULT.earlier(List.of(List.of("\ud83d")))));
        }
    }

    private void why() {
        try (Model model = Model.load(bundle); Task task = model.begin("find my file, then send a mail and a zebra")) {
            refused(Code.INPUT, "ask er_next first", task::explain);
            task.next();
            Explanation why = task.explain();
            same("find_file", why.compared().get(0));
            Explanation.Vote words = why.votes().stream().filter(vote -> vote.part() == Explanation.Part.WORDS).findFirst().get();
            check(words.within() == Explanation.Part.PRIOR && words.shares().size() == 3, words.toString());
            check(why.words().contains(new Explanation.Word("zebra", true, List.of())), why.words().toString());
            check(why.words().stream().anyMatch(one -> one.word().equals("file") && one.in().contains("find_file")), why.words().toString());
            check(!why.near().isEmpty() && !why.cluster().isEmpty() && why.similarity() <= 1.001, why.toString());
            same(java.util.Collections.singletonList(null), task.explain(java.util.Collections.singletonList(null)).compared());
            refused(Code.INPUT, "name 1 to 3", () -> task.explain(List.of()));
            refused(Code.INPUT, "4 candidates", () -> task.explain(model.tools().subList(0, 4)));
            refused(Code.INPUT, "unknown tool", () -> task.explain(List.of("nobody")));
            check(!task.conformal(0.95).isEmpty(), "nothing can be right");
            refused(Code.INPUT, "coverage is 1", () -> task.conformal(1));
            task.call("find_file");
            task.next();
            check(task.leftAside().stream().anyMatch(one -> one.contains("mail")), task.leftAside().toString());
        }
    }

    private void closed() {
        Model model = Model.load(bundle);
        Task task = model.begin(QUERY);
        task.next();
        Task fork = task.fork();
        Model grown = model.withTools(new ToolChange().add(DOOR));
        model.close();
        model.close();
        check(task.next().probability() > 0, "what runs keeps what it needs");
        same(10, model.tools().size());
        List<Act> late = new ArrayList<>(List.of(
                () -> model.begin(QUERY), () -> model.search(QUERY, 1), () -> model.encode(QUERY), () -> model.tokens(QUERY),
                () -> model.definition("find_file"), () -> model.withTools(new ToolChange())));
        for (Act act : late) refused(Code.INPUT, "this model was closed; load it again", act);
        task.close();
        task.close();
        check(fork.next().probability() > 0, "a fork is closed by itself");
        fork.close();
        List<Act> ended = List.of(
                task::next, () -> task.candidates(1), () -> task.call("find_file"), () -> task.fail("find_file"),
                () -> task.retry("find_file"), task::undo, task::fork, fork::next);
        for (Act act : ended) refused(Code.INPUT, "this task was closed; begin another one", act);
        grown.begin(QUERY).close();
        grown.close();
    }

    private static BeginOptions only(String... tools) {
        return BeginOptions.DEFAULT.tools(java.util.Arrays.asList(tools));
    }

    private interface Act {
        void run() throws Exception;
    }

    private static void check(boolean fine, String what) {
        if (!fine) throw new AssertionError(what);
    }

    private static void same(Object wanted, Object found) {
        check(wanted.equals(found), found + " and not " + wanted);
    }

    private static void refused(Code code, String words, Act act) {
        try {
            act.run();
        } catch (EdgeretException e) {
            check(e.code() == code && e.getMessage().contains(words), e.code() + ": " + e.getMessage() + " and not " + code + ": " + words);
            check(e.getMessage().indexOf('\n') < 0, "more than a line: " + e.getMessage());
            return;
        } catch (Exception e) {
            throw new AssertionError("not refused in words: " + words, e);
        }
        throw new AssertionError("not refused: " + words);
    }

    private static void missing(String name, Act act) {
        try {
            act.run();
        } catch (NullPointerException e) {
            same(name, e.getMessage());
            return;
        } catch (Exception e) {
            throw new AssertionError(name, e);
        }
        throw new AssertionError("null was taken: " + name);
    }
}
