package edgeret;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * One request, step by step: ask {@link #next}, run the tool, say {@link #call} or {@link #fail}, ask again. Threads that share
 * a task wait for each other. {@link #close} gives its memory back; after it every call throws EdgeretException.
 */
public final class Task implements AutoCloseable {
    private static final Decision.Reason[] REASONS = Decision.Reason.values();

    private final Handle handle;
    private final List<String> tools;
    private final @Nullable BundleFiles files;
    private final String query;
    /** Of each call its tool, arguments and result; empty for a failure. As all below, used with the handle's lock held. */
    private final List<List<String>> log = new ArrayList<>();
    private @Nullable String decided;

    Task(long address, String query, List<String> tools, @Nullable BundleFiles files) {
        this.query = query;
        this.tools = tools;
        this.files = files;
        handle = new Handle(this, address, Core::end, files, "this task was closed; begin another one");
    }

    /** What comes next, by the bundle's own floor. */
    public Decision next() {
        return next(NextOptions.DEFAULT);
    }

    /** What comes next. Where a large encoder has to read the words, milliseconds, or a second for the longest. */
    public Decision next(NextOptions options) {
        double[] told = new double[9];
        byte[] name = during(task -> {
            byte[] best = Core.next(task, options.heads, options.minProbability, options.risk, told);
            decided = named((int) told[0]);
            return best;
        });
        String best = Text.of(name);
        return new Decision(
                named((int) told[0]),
                told[1],
                REASONS[(int) told[2]],
                told[3] != 0,
                told[4] != 0,
                told[5] != 0,
                told[6] == 0 ? Decision.Stage.TABLE : Decision.Stage.TRANSFORMER,
                told[7] != 0,
                told[8],
                best.equals("<end>") ? null : best);
    }

    /** The `k` most probable candidates of the last next(), best first. Behind a call, and in a fork, next() comes first. */
    public List<Candidate> candidates(int k) {
        int most = Math.min(Model.whole(k), tools.size() + 1);
        int[] found = new int[most];
        double[] probabilities = new double[most];
        int count = Math.min(during(task -> Core.candidates(task, found, probabilities)), most);
        List<Candidate> all = new ArrayList<>(count);
        for (int i = 0; i < count; i++) all.add(new Candidate(named(found[i]), probabilities[i]));
        return all;
    }

    /** Those of them that hold what is right in a share `coverage` of decisions: whom to ask a person, or a planner, about. */
    public List<Candidate> conformal(double coverage) {
        return candidates(during(task -> Core.conformal(task, coverage)));
    }

    /** Why the last next() came out so, by its three most probable candidates. */
    public Explanation explain() {
        List<@Nullable String> names = new ArrayList<>();
        for (Candidate one : candidates(3)) names.add(one.tool());
        return explain(names);
    }

    /** The same by 1 to 3 candidates, null for the end; the first is told from the second. */
    public Explanation explain(List<@Nullable String> compared) {
        int[] numbers = new int[compared.size()];
        for (int i = 0; i < numbers.length; i++) numbers[i] = number(compared.get(i));
        Told told = new Told(during(task -> Core.explain(task, numbers)));
        Explanation.Part[] parts = Explanation.Part.values();
        return new Explanation(
                Collections.unmodifiableList(new ArrayList<>(compared)),
                told.list(() -> {
                    Explanation.Part part = parts[(int) told.number()];
                    int within = (int) told.number();
                    double weight = told.number(), pull = told.number();
                    List<Double> shares = new ArrayList<>();
                    for (int ignored : numbers) shares.add(Math.exp(told.number()));
                    return new Explanation.Vote(part, within < 0 ? null : parts[within], weight, pull, Collections.unmodifiableList(shares));
                }),
                told.list(() -> {
                    String query = told.text();
                    return new Explanation.Demonstration(query.isEmpty() ? null : query, told.texts(), told.number() != 0, told.number());
                }),
                told.list(() -> {
                    String word = told.text();
                    boolean unknown = told.number() != 0;
                    int has = (int) told.number();
                    List<String> in = new ArrayList<>();
                    for (int i = 0; i < numbers.length; i++) if ((has >> i & 1) != 0 && numbers[i] >= 0) in.add(tools.get(numbers[i]));
                    return new Explanation.Word(word, unknown, Collections.unmodifiableList(in));
                }),
                told.list(() -> new Candidate(named((int) told.number()), told.number())),
                told.number());
    }

    /** What a call of the tool that the last next() decided is given. */
    public Arguments arguments() {
        return arguments(ArgumentOptions.DEFAULT);
    }

    /** The same with options. */
    public Arguments arguments(ArgumentOptions options) {
        return during(task -> {
            if (decided == null) throw new EdgeretException(EdgeretException.Code.INPUT, "no tool was decided; ask next() first, or name the tool");
            return arguments(decided, options);
        });
    }

    /**
     * What a call of this tool is given as the next one: what the request and the calls before it say, and nothing that the
     * tool's schema refuses.
     */
    public Arguments arguments(String tool, ArgumentOptions options) {
        Told told = new Told(during(task -> {
            List<String> texts = new ArrayList<>(List.of(tool));
            for (List<String> call : log) texts.addAll(call);
            return Core.arguments(task, Text.bytes("tool", texts), options.clock, options.rulesAlone);
        }));
        return new Arguments(
                told.map(() -> {
                    Arguments.Value value = value(told);
                    Arguments.Source source = Arguments.Source.values()[(int) told.number()];
                    int begin = (int) told.number(), end = (int) told.number();
                    Arguments.Span span = end == 0 ? null : new Arguments.Span(query.offsetByCodePoints(0, begin), query.offsetByCodePoints(0, end));
                    double confidence = told.number();
                    return new Arguments.Argument(value, source, span, confidence, told.list(() -> value(told)));
                }),
                told.map(told::text));
    }

    private static Arguments.Value value(Told told) {
        return new Arguments.Value(Arguments.Type.values()[(int) told.number()], told.text());
    }

    /** The request's words for wishes that no call is for yet, where it asks for several things. */
    public List<String> leftAside() {
        return new Told(during(Core::leftAside)).texts();
    }

    /** It was called; strangers' tools count, too, so any name may be given. */
    public void call(String tool) {
        call(tool, "{}", "");
    }

    /** It was called with these arguments, a JSON object: later calls may take values of them. */
    public void call(String tool, String arguments) {
        call(tool, arguments, "");
    }

    /** It was called, and gave this, as JSON; an empty text where nobody knows. */
    public void call(String tool, String arguments, String result) {
        byte[] name = Text.bytes("tool", tool);
        Text.bytes("arguments", arguments);
        Text.bytes("result", result);
        during(task -> Core.call(task, name) + log(List.of(tool, arguments, result)));
    }

    /** It did not work, and is left out until the next call. */
    public void fail(String tool) {
        byte[] name = Text.bytes("tool", tool);
        during(task -> Core.fail(task, name) + log(List.of()));
    }

    /** It failed, and may be chosen once more. */
    public void retry(String tool) {
        byte[] name = Text.bytes("tool", tool);
        during(task -> Core.retry(task, name) + log(null));
    }

    /** Takes the last call or failure back. */
    public void undo() {
        during(task -> {
            int done = Core.undo(task) + log(null);
            log.remove(log.size() - 1);
            return done;
        });
    }

    private int log(@Nullable List<String> made) {
        decided = null;
        if (made != null) log.add(made);
        return 0;
    }

    /** Another task that goes on from here on its own, and is closed by itself. */
    public Task fork() {
        return during(task -> {
            Task other = new Task(Core.fork(task), query, tools, files == null ? null : files.join()); // joined while it is open
            other.log.addAll(log);
            return other;
        });
    }

    /** Learns that the calls made so far, and no more, solve the request: none, that nothing fits. On disk when this returns. */
    public Learned learn() {
        return learn(Plan.Source.ACCEPTED, true);
    }

    /** The same; without words the query's vector and the tools' names are kept, and nothing that anybody could read. */
    public Learned learn(Plan.Source source, boolean withWords) {
        long[] numbers = new long[4];
        int why = source.ordinal();
        return during(task -> Learned.of(numbers, Core.learn(task, why, !withWords, numbers)));
    }

    /** Gives the memory back. A second close does nothing. */
    @Override
    public void close() {
        handle.close();
    }

    /** Calls with the task's address, while no other thread is in it and it stays open. */
    <T> T during(LongFunction<T> call) {
        synchronized (handle) {
            long task = handle.enter();
            try {
                return call.apply(task);
            } finally {
                handle.leave();
            }
        }
    }

    private int number(@Nullable String tool) {
        int found = tool == null ? -1 : tools.indexOf(tool);
        if (tool != null && found < 0)
            throw new EdgeretException(EdgeretException.Code.INPUT, "unknown tool " + Text.shown(tool) + "; Model.tools lists those that are there");
        return found;
    }

    private @Nullable String named(int tool) {
        return tool < 0 ? null : tools.get(tool);
    }
}
