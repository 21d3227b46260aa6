package edgeret;

import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a device learns from its user: begin tasks here, and let those that came out right {@link Task#learn}. Shared by threads;
 * each next() goes by what was learned until then. After {@link #close} every call throws EdgeretException; running tasks go on.
 */
public final class Learner implements AutoCloseable {
    private final Handle handle;
    private final @Nullable BundleFiles files;
    private final List<Model> before = new ArrayList<>();
    private volatile Model model;

    private Learner(long address, @Nullable BundleFiles files) {
        this.files = files;
        handle = new Handle(this, address, Core::learnerClose, files, "this learner was closed; open it again");
        byte[][] none = new byte[0][];
        // The learner's own model lives no longer than the learner; without changes, this is the same one, held once more.
        model = new Model(Core.withTools(Core.learnerModel(address), none, none, none), files == null ? null : files.join());
    }

    /** Learns over this model; what is learned lasts as long as the learner. */
    public static Learner inMemory(Model model) {
        return open(model, null, 0);
    }

    /** The same, going on from what another learner's {@link #bytes} told. */
    public static Learner inMemory(Model model, byte[] kept) {
        Objects.requireNonNull(kept, "kept");
        return model.during((address, files) ->
                new Learner(Core.learnerOpen(address, null, 0, kept), files == null ? null : files.join()));
    }

    /**
     * Goes on where an overlay left off: a file, made with the first plan where it is not there, which other processes may share.
     * Throws EdgeretException where it is damaged, forged or another encoder's.
     */
    public static Learner open(Model model, Path overlay) {
        return open(model, overlay, 0);
    }

    /** The same, and each change waits so long for other writers; 0 for the usual ten seconds. */
    public static Learner open(Model model, @Nullable Path overlay, double waitSeconds) {
        byte[] path = overlay == null ? null : Text.bytes(overlay);
        return model.during((address, files) ->
                new Learner(Core.learnerOpen(address, path, waitSeconds, null), files == null ? null : files.join()));
    }

    /** The model with the tools that came and went by the overlay. It is closed with the learner. */
    public Model model() {
        return model;
    }

    /** Begins a request that can be learned from. */
    public Task begin(String query) {
        return begin(query, BeginOptions.DEFAULT);
    }

    /** The same with options. For a model that withTools made of this one: its begin, with BeginOptions.learner. */
    public Task begin(String query, BeginOptions options) {
        return model.begin(query, options.learner(this));
    }

    /**
     * Changes the tools of {@link #model}, and keeps the change in the overlay for later starts. The model with these tools is
     * model() from then on, and closed with the learner, as the one before is.
     */
    public synchronized Model withTools(ToolChange change) {
        byte[][] add = Text.bytes("add", change.added), replace = Text.bytes("replace", change.replaced);
        byte[][] remove = Text.bytes("remove", change.removed);
        Model made = model.withTools(change);
        try {
            during(learner -> model.during((from, ignored) -> made.during((to, also) -> {
                Core.learnerKeep(learner, from, add, remove, replace, to);
                return null;
            })));
        } catch (Throwable e) {
            made.close();
            throw e;
        }
        before.add(model);
        model = made;
        return made;
    }

    /** Another one that has learned the same and keeps nothing, to try out what a plan would change. */
    public Learner copy() {
        return during(learner -> new Learner(Core.learnerCopy(learner), files == null ? null : files.join()));
    }

    /** All that was learned, as an overlay without changes of tools: to hand over, or to keep where there are no files. */
    public byte[] bytes() {
        return during(Core::learnerBytes);
    }

    /** How much was learned. */
    public Learned learned() {
        long[] numbers = new long[4];
        return during(learner -> Learned.of(numbers, Core.learned(learner, numbers)));
    }

    /** All plans that are stored, in no order. */
    public List<Plan> plans() {
        List<Plan> found = new ArrayList<>();
        during(learner -> Core.plans(learner, found));
        return found;
    }

    /** Forgets the plans with these words, whatever their case and spaces; how many there were. */
    public int forgetQuery(String query) {
        return forget(Text.bytes("query", query), null, 0, false);
    }

    /** Forgets the plans that call this tool; how many there were. */
    public int forgetTool(String tool) {
        return forget(null, Text.bytes("tool", tool), 0, false);
    }

    /** Forgets one plan; 1, or 0 where there was none. */
    public int forget(Plan plan) {
        return forget(null, null, plan.id(), false);
    }

    /** Forgets all; how many there were. */
    public int forgetEverything() {
        return forget(null, null, 0, true);
    }

    private int forget(byte @Nullable [] query, byte @Nullable [] tool, long id, boolean everything) {
        return during(learner -> Core.forget(learner, query, tool, id, everything));
    }

    /** Gives the memory back, once no thread is in a call. What was learned is in the overlay already. */
    @Override
    public synchronized void close() {
        model.close();
        for (Model one : before) one.close();
        handle.close();
    }

    <T> T during(java.util.function.LongFunction<T> call) {
        long learner = handle.enter();
        try {
            return call.apply(learner);
        } finally {
            handle.leave();
        }
    }

    /** As native code tells of a plan. */
    static void add(List<Plan> to, long id, byte @Nullable [] query, byte[][] calls, int source, double learnedAt) {
        List<String> names = new ArrayList<>();
        for (byte[] call : calls) names.add(Text.of(call));
        Instant at = Instant.ofEpochMilli(Math.round(learnedAt * 1000));
        String words = query == null ? null : Text.of(query);
        to.add(new Plan(id, words, Collections.unmodifiableList(names), Plan.Source.values()[source], at));
    }
}
