package edgeret;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A loaded bundle. Immutable, and shared by threads. {@link #close} gives its memory back; tasks that run keep what they need.
 * After it every call but those of what the bundle is throws EdgeretException.
 */
public final class Model implements AutoCloseable {
    private final Handle handle;
    private final @Nullable BundleFiles files;
    private final String contentHash;
    private final List<String> tools;
    private final long[] numbers = new long[6];

    Model(long address, @Nullable BundleFiles files) {
        this.files = files;
        handle = new Handle(this, address, Core::free, files, "this model was closed; load it again");
        contentHash = Text.of(Core.describe(address, numbers));
        List<String> names = new ArrayList<>();
        for (int i = 0; i < numbers[0]; i++) names.add(Text.of(Core.toolName(address, i)));
        tools = Collections.unmodifiableList(names);
    }

    /** Loads the bundle in a folder. Throws EdgeretException where it cannot be read, is damaged or forged. */
    public static Model load(Path folder) {
        return load(folder, LoadOptions.DEFAULT);
    }

    /** The same with options; a folder of another file system, a zip's for example, is read file by file. */
    public static Model load(Path folder, LoadOptions options) {
        Core.ready();
        if (folder.getFileSystem() != FileSystems.getDefault()) return load(read(folder, options), options);
        byte[] hash = hash(options);
        return new Model(Core.load(Text.bytes(folder), hash, options.mostLoss, options.tiny, options.threads), null);
    }

    /**
     * Loads a bundle of files by name, "manifest" among them: each a byte[] or a ByteBuffer. They are copied, but for direct
     * buffers that are read-only, as FileChannel maps them: these stay in use, and what they map must not change.
     */
    public static Model load(Map<String, ?> files) {
        return load(files, LoadOptions.DEFAULT);
    }

    /** The same with options. What this loading does not need, planners and licences among it, is not looked at. */
    public static Model load(Map<String, ?> files, LoadOptions options) {
        Core.ready();
        byte[] hash = hash(options);
        BundleFiles held = new BundleFiles(files, options);
        try {
            return new Model(held.load(options, hash), held);
        } catch (Throwable e) {
            held.leave();
            throw e;
        }
    }

    /** The names of the files that a bundle with this manifest is loaded from, for whoever fetches them one by one. */
    public static List<String> files(byte[] manifest, LoadOptions options) {
        Core.ready();
        ByteBuffer copy = ByteBuffer.allocateDirect(manifest.length);
        copy.put(manifest);
        List<String> names = new ArrayList<>();
        for (byte[] name : Core.list(copy, options.tiny)) names.add(Text.of(name));
        return names;
    }

    /** 64 hex digits that name the bundle's content. */
    public String contentHash() {
        return contentHash;
    }

    /** The names of all tools. */
    public List<String> tools() {
        return tools;
    }

    /** How many labels demonstrations call, the end of a plan among them; 0 from tools alone. */
    public int labels() {
        return (int) numbers[1];
    }

    /** Of the encoder that decides. */
    public int dimension() {
        return (int) numbers[2];
    }

    /** 1, or 2 with a small encoder in front. */
    public int stages() {
        return (int) numbers[3];
    }

    /** Whether text can be encoded here; otherwise begin tasks with an {@link Encoding}. */
    public boolean encodes() {
        return numbers[4] != 0;
    }

    /** That the model holds; files that are mapped, and what it shares with another model, not counted. */
    public long bytes() {
        return numbers[5];
    }

    /** A tool's definition, a JSON object: name, description, parameters. */
    public String definition(String tool) {
        long model = handle.enter();
        try {
            return Text.of(Core.toolDefinition(model, number(model, tool)));
        } finally {
            handle.leave();
        }
    }

    /** Another model with other tools, in milliseconds. It shares what stays with this one; close both, in any order. */
    public Model withTools(ToolChange change) {
        byte[][] add = Text.bytes("add", change.added), replace = Text.bytes("replace", change.replaced);
        byte[][] remove = Text.bytes("remove", change.removed);
        long model = handle.enter();
        try {
            return new Model(Core.withTools(model, add, remove, replace), files == null ? null : files.join());
        } finally {
            handle.leave();
        }
    }

    /** Begins a request of a user, at most 20,000 characters. Close the task once it is done. */
    public Task begin(String query) {
        return begin(query, BeginOptions.DEFAULT);
    }

    /** The same with options. */
    public Task begin(String query, BeginOptions options) {
        byte[] words = Text.bytes("query", query);
        long model = handle.enter();
        try {
            int[] allowed = options.tools == null ? null : new int[options.tools.size()];
            for (int i = 0; allowed != null && i < allowed.length; i++) allowed[i] = number(model, options.tools.get(i));
            byte[][] calls = options.calls();
            long task = during(options.learner, learner ->
                    Core.begin(model, words, options.encoding, allowed, calls, options.last(), learner));
            return new Task(task, query, tools, files == null ? null : files.join());
        } finally {
            handle.leave();
        }
    }

    /** The `k` tools that words want most, best first. */
    public List<Hit> search(String query, int k) {
        return search(query, k, SearchOptions.DEFAULT);
    }

    /** The same with options. */
    public List<Hit> search(String query, int k, SearchOptions options) {
        int most = Math.min(whole(k), tools.size());
        byte[] words = Text.bytes("query", query);
        int[] found = new int[most];
        double[] numbers = new double[3 * most];
        long model = handle.enter();
        try {
            int by = options.strategy.ordinal();
            long there = during(options.learner, learner -> Core.search(model, words, by, learner, found, numbers));
            int count = Math.min((int) there, most);
            List<Hit> hits = new ArrayList<>(count);
            for (int i = 0; i < count; i++)
                hits.add(new Hit(tools.get(found[i]), numbers[3 * i], numbers[3 * i + 1], numbers[3 * i + 2]));
            return hits;
        } finally {
            handle.leave();
        }
    }

    /** A text's vector, (dimension) numbers, of length 1. */
    public float[] encode(String query) {
        byte[] words = Text.bytes("query", query);
        float[] vector = new float[dimension()];
        long model = handle.enter();
        try {
            Core.encode(model, words, vector);
            return vector;
        } finally {
            handle.leave();
        }
    }

    /** A query's tokens, for an encoder of your own. */
    public Tokens tokens(String query) {
        byte[] words = Text.bytes("query", query);
        long model = handle.enter();
        try {
            int[] all = Core.tokens(model, words);
            int[][] parts = new int[3][all.length / 3];
            for (int i = 0; i < all.length; i++) parts[i / parts[0].length][i % parts[0].length] = all[i];
            return new Tokens(parts[0], parts[1], parts[2]);
        } finally {
            handle.leave();
        }
    }

    private static long during(@Nullable Task turn, LongUnaryOperator call) {
        return turn == null ? call.applyAsLong(0) : turn.during(call::applyAsLong);
    }

    private static long during(@Nullable Learner learner, LongUnaryOperator call) {
        return learner == null ? call.applyAsLong(0) : learner.during(call::applyAsLong);
    }

    /** Calls with the model's address, which stays, and its files. */
    interface Use<T> {
        T of(long model, @Nullable BundleFiles files);
    }

    <T> T during(Use<T> call) {
        long model = handle.enter();
        try {
            return call.of(model, files);
        } finally {
            handle.leave();
        }
    }

    /** Gives the memory back, once no thread is in a call. A second close does nothing. */
    @Override
    public void close() {
        handle.close();
    }

    static int whole(int k) {
        if (k < 0) throw new EdgeretException(EdgeretException.Code.INPUT, "k must be 0 or more, found " + k);
        return k;
    }

    private static int number(long model, String tool) {
        long found = Core.toolFind(model, Text.bytes("tool", tool));
        if (found < 0)
            throw new EdgeretException(
                    EdgeretException.Code.INPUT,
                    "unknown tool " + Text.shown(tool) + "; model.tools() lists those that are there");
        return (int) found;
    }

    private static byte @Nullable [] hash(LoadOptions options) {
        return options.contentHash == null ? null : Text.bytes("contentHash", options.contentHash);
    }

    private static Map<String, byte[]> read(Path folder, LoadOptions options) {
        Map<String, byte[]> found = new HashMap<>();
        String name = "manifest";
        try {
            byte[] manifest = Files.readAllBytes(folder.resolve(name));
            for (String listed : files(manifest, options)) found.put(listed, Files.readAllBytes(folder.resolve(name = listed)));
            found.put("manifest", manifest);
            return found;
        } catch (IOException e) {
            throw new EdgeretException(
                    EdgeretException.Code.FILE, folder.resolve(name) + ": cannot be read; give the folder of a bundle");
        }
    }
}
