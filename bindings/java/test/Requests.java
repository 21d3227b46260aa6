import edgeret.ArgumentOptions;
import edgeret.Arguments;
import edgeret.BeginOptions;
import edgeret.Candidate;
import edgeret.Decision;
import edgeret.Hit;
import edgeret.Learner;
import edgeret.LoadOptions;
import edgeret.Model;
import edgeret.SearchOptions;
import edgeret.Task;
import edgeret.ToolChange;
import edgeret.Tokens;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.stream.Stream;

/**
 * What the JVM makes of requests, as core/test/conformance.c writes it, for tests/core/test_java.py.
 *
 * <p>Requests BUNDLE folder|bytes|mapped|tiny [TOOLS] &lt; requests: a line is a request, the query and what was called between
 * tabs; other lines begin with !, and TOOLS are definitions, one a line, that stand in for the bundle's own.
 */
public final class Requests {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] given) throws IOException {
        Path folder = Path.of(given[0]);
        try (Model loaded = load(folder, given[1]);
                Model model = given.length > 2 ? loaded.withTools(instead(loaded, Path.of(given[2]))) : loaded) {
            OUT.println("{\"contentHash\":" + quoted(model.contentHash()) + ",\"tools\":" + list(model.tools()) + "}");
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line; (line = in.readLine()) != null; ) answer(model, line.split("\t", -1));
            if (learner != null) learner.close();
            if (changed != null) changed.close();
        }
        OUT.flush();
    }

    private static Model load(Path folder, String how) throws IOException {
        if (how.equals("folder")) return Model.load(folder);
        if (how.equals("tiny")) return Model.load(folder, LoadOptions.DEFAULT.tiny());
        Map<String, Object> files = new HashMap<>();
        byte[] manifest = Files.readAllBytes(folder.resolve("manifest"));
        files.put("manifest", manifest);
        for (String name : Model.files(manifest, LoadOptions.DEFAULT)) {
            Path file = folder.resolve(name);
            if (how.equals("bytes")) files.put(name, Files.readAllBytes(file));
            else
                try (FileChannel channel = FileChannel.open(file)) {
                    files.put(name, channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()));
                }
        }
        return Model.load(files);
    }

    private static ToolChange instead(Model model, Path tools) throws IOException {
        return new ToolChange()
                .remove(model.tools().toArray(new String[0]))
                .add(Files.readAllLines(tools, StandardCharsets.UTF_8).toArray(new String[0]));
    }

    /** What decides from some line on. */
    private static Model changed;

    private static Learner learner;

    private static void answer(Model loaded, String[] request) {
        Model model = changed == null ? loaded : changed;
        List<String> rest = List.of(request).subList(1, request.length);
        switch (request[0]) {
            case "!turn" -> turn(model, rest);
            case "!learn" -> learn(model, rest);
            case "!change" -> change(model, rest);
            case "!call" -> call(model, rest);
            default -> decide(model, request);
        }
    }

    private static void turn(Model model, List<String> given) {
        List<String> calls = given.subList(2, given.size());
        int at = calls.size() - Integer.parseInt(given.get(0));
        BeginOptions later = BeginOptions.DEFAULT.earlier(List.of(calls.subList(0, at), calls.subList(at, calls.size())));
        try (Task task = model.begin(given.get(1), later)) {
            OUT.println(decision(task));
        }
    }

    private static void learn(Model model, List<String> given) {
        if (learner == null) learner = Learner.inMemory(model);
        try (Task task = learner.begin(given.get(0))) {
            for (String tool : given.subList(1, given.size())) task.call(tool);
            OUT.println("{\"stored\":" + task.learn().stored() + "}");
        }
    }

    private static void change(Model model, List<String> given) {
        ToolChange change = new ToolChange();
        for (String one : given) {
            if (one.startsWith("+")) change.add(one.substring(1));
            else change.remove(one.substring(1));
        }
        changed = model.withTools(change);
        if (learner != null) learner.close();
        learner = null;
        OUT.println("{\"changed\":" + given.size() + "}");
    }

    private static void call(Model model, List<String> given) {
        ArgumentOptions options = ArgumentOptions.DEFAULT;
        if (!given.get(2).isEmpty()) {
            int[] at = Stream.of(given.get(2).split(" ")).mapToInt(Integer::parseInt).toArray();
            LocalDateTime time = LocalDateTime.of(at[0], at[1], at[2], at[3], at[4], at[5]);
            options = options.now(time.atOffset(ZoneOffset.ofTotalSeconds(60 * at[6])));
        }
        String query = given.get(1);
        try (Task task = model.begin(query)) {
            for (int i = 3; i + 2 < given.size(); i += 3) task.call(given.get(i), given.get(i + 1), given.get(i + 2));
            Arguments found = task.arguments(given.get(0), options);
            StringJoiner values = new StringJoiner(",", "[", "]"), missing = new StringJoiner(",", "[", "]");
            found.given().forEach((name, one) -> {
                StringJoiner others = new StringJoiner(",", "[", "]");
                for (Arguments.Value other : one.alternatives()) others.add(other.json());
                Arguments.Span span = one.span() == null ? new Arguments.Span(0, 0) : one.span();
                int begin = query.codePointCount(0, span.begin()), end = query.codePointCount(0, span.end());
                values.add("[" + quoted(name) + "," + one.value().json() + "," + quoted(one.source().name().toLowerCase(Locale.ROOT)) + "," + begin
                        + "," + end + "," + one.confidence() + "," + others + "]");
            });
            found.missing().forEach((name, question) -> missing.add("[" + quoted(name) + "," + quoted(question) + "]"));
            OUT.println("{\"given\":" + values + ",\"missing\":" + missing + "}");
        }
    }

    private static void decide(Model model, String[] request) {
        try (Task task = learner == null ? model.begin(request[0]) : learner.begin(request[0])) {
            for (int i = 1; i < request.length; i++) task.call(request[i]);
            StringJoiner fields = decision(task);
            if (request.length == 1) texts(model, request[0], fields);
            OUT.println(fields);
        }
    }

    private static StringJoiner decision(Task task) {
        Decision next = task.next();
        StringJoiner fields = new StringJoiner(",", "{", "}");
        fields.add("\"tool\":" + (next.tool() == null ? "null" : quoted(next.tool())));
        fields.add("\"abstained\":" + next.abstained()).add("\"confirm\":" + next.confirm());
        fields.add("\"probability\":" + next.probability()).add("\"stage\":" + quoted(next.stage().name()));
        fields.add("\"reason\":" + quoted(next.reason().name()));
        StringJoiner candidates = new StringJoiner(",", "[", "]");
        for (Candidate one : task.candidates(Integer.MAX_VALUE))
            candidates.add("[" + quoted(one.tool() == null ? "<end>" : one.tool()) + "," + one.probability() + "]");
        fields.add("\"candidates\":" + candidates);
        return fields;
    }

    private static final SearchOptions HYBRID = SearchOptions.DEFAULT.strategy(SearchOptions.Strategy.HYBRID);

    private static void texts(Model model, String query, StringJoiner fields) {
        StringJoiner hits = new StringJoiner(",", "[", "]"), spans = new StringJoiner(",", "[", "]");
        for (Hit hit : model.search(query, Integer.MAX_VALUE, HYBRID)) hits.add("[" + quoted(hit.tool()) + "," + hit.share() + "]");
        Tokens tokens = model.tokens(query);
        for (int i = 0; i < tokens.ids().length; i++) spans.add("[" + tokens.begins()[i] + "," + tokens.ends()[i] + "]");
        StringJoiner vector = new StringJoiner(",", "[", "]");
        for (float value : model.encode(query)) vector.add(Float.toString(value));
        fields.add("\"search\":" + hits).add("\"spans\":" + spans).add("\"vector\":" + vector);
    }

    private static String list(List<String> names) {
        StringJoiner all = new StringJoiner(",", "[", "]");
        for (String name : names) all.add(quoted(name));
        return all.toString();
    }

    private static String quoted(String text) {
        StringBuilder made = new StringBuilder("\"");
        for (char c : text.toCharArray())
            if (c < 0x20 || c == '"' || c == '\\') made.append(String.format("\\u%04x", (int) c));
            else made.append(c);
        return made.append('"').toString();
    }
}
