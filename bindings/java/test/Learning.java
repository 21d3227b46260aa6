import edgeret.BeginOptions;
import edgeret.Candidate;
import edgeret.EdgeretException;
import edgeret.EdgeretException.Code;
import edgeret.Learned;
import edgeret.Learner;
import edgeret.Model;
import edgeret.Plan;
import edgeret.Task;
import edgeret.ToolChange;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Learning, for tests/core/test_java.py: Learning CONFORMANCE EMPTY-FOLDER; leaves an overlay there, with one plan. */
public final class Learning {
    private static final String QUERY = "zebra 😀";
    private static final List<String> OTHERS = List.of("Mail 😀", "my NOTE  😀", "open a meeting", "free day", "close it");
    private static final List<String> CALLS = List.of("play_music", "phone_call");

    public static void main(String[] given) throws Exception {
        Path bundle = Path.of(given[0]).resolve("few"), scratch = Path.of(given[1]);
        try (Model model = Model.load(bundle); Model packed = Model.load(contents(bundle))) {
            inMemory(model);
            inMemory(packed);
            kept(model, scratch);
            refusals(model, scratch);
        }
        System.out.println("all fine");
    }

    private static Map<String, byte[]> contents(Path bundle) throws Exception {
        Map<String, byte[]> files = new HashMap<>();
        for (String name : List.of(bundle.toFile().list())) files.put(name, Files.readAllBytes(bundle.resolve(name)));
        return files;
    }

    private static double probability(Task task, String tool) {
        task.next();
        for (Candidate one : task.candidates(1000)) if (tool.equals(one.tool())) return one.probability();
        throw new AssertionError(tool + " is no candidate");
    }

    /** A plan takes the place of the same one for words that mean the same. */
    private static Learned teach(Learner learner, String query, boolean withWords) {
        try (Task task = learner.begin(query)) {
            for (String tool : CALLS) task.call(tool);
            return task.learn(Plan.Source.CORRECTED, withWords);
        }
    }

    private static void inMemory(Model model) throws Exception {
        Task outlives;
        try (Learner learner = Learner.inMemory(model); Task alone = model.begin(QUERY)) {
            outlives = learner.begin(QUERY);
            double before = probability(alone, "play_music");
            check(Math.abs(probability(outlives, "play_music") - before) < 1e-9, "nothing was learned yet");
            check(learner.learned().equals(new Learned(0, true, 0, 0, -1)), learner.learned());
            for (String query : OTHERS) teach(learner, query, true);
            check(teach(learner, QUERY, true).stored() == 6, learner.learned());
            check(probability(outlives, "play_music") > before + 0.1, "nothing was learned");
            check(Math.abs(probability(alone, "play_music") - before) < 1e-9, "the bundle alone learns nothing");
            Plan one = learner.plans().get(0);
            check(one.query() != null && one.calls().equals(CALLS) && one.source() == Plan.Source.CORRECTED, one);
            check(Math.abs(one.learnedAt().getEpochSecond() - System.currentTimeMillis() / 1000) < 86_400, one);
            check(learner.forget(one) == 1 && learner.forget(one) == 0, "one is forgotten");
            check(learner.forgetQuery("NOTHING like it") == 0, "nobody said that");
            int left = one.query().equals(OTHERS.get(1)) ? 0 : 1;
            check(learner.forgetQuery("MY   note 😀") == left, "words are forgotten");
            byte[] told = learner.bytes();
            try (Learner again = Learner.inMemory(model, told); Learner copy = learner.copy()) {
                check(again.learned().stored() == 5 - left && copy.learned().stored() == 5 - left, again.learned());
                check(copy.forgetEverything() == 5 - left && learner.learned().stored() == 5 - left, "a copy learns for itself");
            }
            told[told.length / 4] ^= 1;
            refused(Code.OVERLAY, "overlay's bytes", () -> Learner.inMemory(model, told));
            check(learner.forgetEverything() == 5 - left, "the others are forgotten");
            refused(Code.INPUT, "nothing is kept", () -> learner.withTools(new ToolChange().remove("write_note")));
            teach(learner, QUERY, false);
            check(learner.plans().get(0).query() == null, "words were kept");
            check(learner.forgetTool("write_note") == 0 && learner.forgetTool("phone_call") == 1, "a tool is forgotten");
            teach(learner, "find a phone", true);
            try (Model grown = learner.model().withTools(new ToolChange().remove("write_note"));
                    Task task = grown.begin(QUERY, BeginOptions.DEFAULT.learner(learner))) {
                task.call("get_day");
                check(task.learn().id() >= 0, "a plan has an id");
            }
            check(learner.forgetEverything() == 2 && learner.learned().stored() == 0, "all is forgotten");
        }
        outlives.next();
        outlives.close();
    }

    private static void kept(Model model, Path scratch) {
        Path overlay = scratch.resolve("kept ü.overlay");
        try (Learner learner = Learner.open(model, overlay)) {
            check(!Files.exists(overlay), "nothing was learned yet");
            teach(learner, QUERY, true);
        }
        try (Learner learner = Learner.open(model, overlay, 60); Learner other = Learner.open(model, overlay)) {
            check(learner.plans().get(0).calls().equals(CALLS), "what was learned stays");
            teach(other, "free day", true);
            teach(learner, "close it", true);
            check(learner.learned().stored() == 3, "others' plans are taken up");
            check(learner.forget(learner.plans().get(0)) == 1 && learner.forget(learner.plans().get(0)) == 1, "forgotten");
            Model before = learner.model(), grown = learner.withTools(new ToolChange().add("{\"name\": \"lock_door\", \"description\": \"lock it\"}"));
            check(learner.model() == grown && !before.tools().contains("lock_door"), "the change decides");
        }
        try (Learner learner = Learner.open(model, overlay); Task task = learner.begin("lock it")) {
            check(learner.model().tools().contains("lock_door"), "tools are kept");
            task.next();
            learner.withTools(new ToolChange().remove("lock_door"));
        }
    }

    private static void refusals(Model model, Path scratch) throws Exception {
        Path forged = scratch.resolve("forged.overlay");
        Files.write(forged, new byte[500]);
        refused(Code.OVERLAY, "forged.overlay", () -> Learner.open(model, forged));
        Files.delete(forged);
        refused(Code.INPUT, "wait_s", () -> Learner.open(model, null, -1));
        Path nowhere = scratch.resolve("no folder").resolve("a.overlay");
        Learner learner = Learner.inMemory(model);
        try (Task without = model.begin(QUERY); Task late = learner.begin(QUERY)) {
            refused(Code.INPUT, "without a learner", without::learn);
            refused(Code.INPUT, "say what to forget", () -> learner.forgetQuery(""));
            late.call("a stranger's");
            refused(Code.INPUT, "call 1 is of a tool that is not there", late::learn);
            learner.close();
            refused(Code.INPUT, "this learner was closed", learner::learned);
            refused(Code.INPUT, "this learner was closed", () -> model.begin(QUERY, BeginOptions.DEFAULT.learner(learner)));
            refused(Code.INPUT, "this model was closed", () -> learner.begin(QUERY));
        }
        try (Learner lost = Learner.open(model, nowhere)) {
            teach(lost, QUERY, true);
            throw new AssertionError("kept where there is no folder");
        } catch (EdgeretException e) {
            check(e.code() == Code.NOT_KEPT || e.code() == Code.FILE || e.code() == Code.OVERLAY, e.code() + e.getMessage());
        }
    }

    private interface Act {
        void run() throws Exception;
    }

    private static void check(boolean fine, Object what) {
        if (!fine) throw new AssertionError(what);
    }

    private static void refused(Code code, String words, Act act) throws Exception {
        try {
            act.run();
        } catch (EdgeretException e) {
            check(e.code() == code && e.getMessage().contains(words), e.code() + ": " + e.getMessage() + " and not " + code + ": " + words);
            return;
        }
        throw new AssertionError("not refused: " + words);
    }
}
