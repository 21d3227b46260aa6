package edgeret;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The header's functions, as edgeret_jni.c has them, and where that library is. Texts are UTF-8, handles are addresses that
 * callers keep alive, and each throws EdgeretException where the header's function fails.
 */
final class Core {
    /** Moves together with BINDING in edgeret_jni.c, whenever a native method does. */
    private static final int BINDING = 5;
    private static final String NAME = "edgeret_jni";
    private static volatile boolean ready;

    private Core() {}

    static native int binding();

    static native ByteBuffer allocate(long size);

    static native void release(ByteBuffer allocated);

    static native long load(byte[] folder, byte @Nullable [] hash, double mostLoss, boolean tiny, int threads);

    static native long loadFiles(
            byte[][] names, ByteBuffer[] contents, byte @Nullable [] hash, double mostLoss, boolean tiny, int threads);

    static native byte[][] list(ByteBuffer manifest, boolean tiny);

    static native long withTools(long model, byte[][] add, byte[][] remove, byte[][] replace);

    static native void free(long model);

    /** The content hash; numbers: tools, labels, dimension, stages, encodes, bytes. */
    static native byte[] describe(long model, long[] numbers);

    static native byte[] toolName(long model, int tool);

    static native byte[] toolDefinition(long model, int tool);

    static native long toolFind(long model, byte[] name);

    static long begin(
            long model, byte[] query, @Nullable Encoding given, int @Nullable [] allowed, byte @Nullable [][] earlier, int last, long learner) {
        if (given == null) return begin(model, query, null, null, null, null, allowed, earlier, last, learner);
        return begin(model, query, given.vector(), given.tokens(), given.begins(), given.ends(), allowed, earlier, last, learner);
    }

    /** Of `earlier` calls `last` are the latest turn's. No learner is 0. Without a vector the words are encoded here. */
    private static native long begin(
            long model,
            byte[] query,
            float @Nullable [] vector,
            float @Nullable [] tokens,
            int @Nullable [] begins,
            int @Nullable [] ends,
            int @Nullable [] allowed,
            byte @Nullable [][] earlier,
            int last,
            long learner);

    /** The best candidate's name; numbers: tool, probability, reason, abstained, confirm, named, stage, demonstrated, floor. */
    static native byte[] next(long task, boolean heads, double minProbability, double risk, double[] numbers);

    /** How many there are, which may be more than the arrays hold. */
    static native int candidates(long task, int[] tools, double[] probabilities);

    /* This and the next three: 0. */
    static native int call(long task, byte[] tool);

    static native int fail(long task, byte[] tool);

    static native int retry(long task, byte[] tool);

    static native int undo(long task);

    static native long fork(long task);

    static native void end(long task);

    /** How many there are, which may be more than the arrays hold; of each its score, its share and its cosine. */
    static native int search(long model, byte[] query, int strategy, long learner, int[] tools, double[] numbers);

    /** Ids, then begins, then ends. */
    static native int[] tokens(long model, byte[] query);

    static native void encode(long model, byte[] query, float[] vector);

    /** Of a file, or of the bytes that learnerBytes gave, or of neither. */
    static native long learnerOpen(long model, byte @Nullable [] overlay, double waitSeconds, byte @Nullable [] kept);

    static native byte[] learnerBytes(long learner);

    static native long learnerCopy(long learner);

    static native void learnerKeep(long learner, long before, byte[][] add, byte[][] remove, byte[][] replace, long after);

    /** For Told: the tool's name, and behind it of each call before its tool, its arguments and its result; year to second, whether
     * a zone is known, and minutes ahead of UTC. */
    static native byte[] arguments(long task, byte[][] texts, int @Nullable [] clock, boolean rulesAlone);

    /** For Told, as is leftAside. */
    static native byte[] explain(long task, int[] candidates);

    static native byte[] leftAside(long task);

    /** How many of the candidates, the most probable ones. */
    static native int conformal(long task, double coverage);

    static native void learnerClose(long learner);

    /** A model that lives as long as the learner. */
    static native long learnerModel(long learner);

    /** The gain; numbers: stored, used, bytes, id. */
    static native double learned(long learner, long[] numbers);

    /** The gain; numbers: stored, used, bytes, id. */
    static native double learn(long task, int source, boolean withoutWords, long[] numbers);

    /** Gives each to Learner.add; how many there are. */
    static native int plans(long learner, List<Plan> to);

    /** What is null, or false, says nothing; without any other it is the id that is meant. */
    static native int forget(long learner, byte @Nullable [] query, byte @Nullable [] tool, long id, boolean everything);

    /** Loads the native library, once: from java.library.path, or else out of the jar. Throws EdgeretException. */
    static void ready() {
        if (ready) return;
        synchronized (Core.class) {
            if (ready) return;
            try {
                System.loadLibrary(NAME);
            } catch (UnsatisfiedLinkError elsewhere) {
                loadFromJar(elsewhere);
            }
            check();
            ready = true;
        }
    }

    private static void check() {
        int found;
        try {
            found = binding();
        } catch (UnsatisfiedLinkError e) {
            found = 0;
        }
        if (found != BINDING) throw refused("is of another build than edgeret.jar; run: make java", null);
    }

    /** Of this machine, as core/build.py calls it. */
    private static String platform() {
        String os = System.getProperty("os.name", "").toLowerCase(Locale.ROOT);
        String cpu = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
        String system = os.startsWith("mac") ? "macos" : os.startsWith("windows") ? "windows" : os.replace(" ", "");
        if (cpu.equals("amd64")) cpu = "x86_64";
        else if (cpu.equals("aarch64")) cpu = "arm64";
        else if (cpu.equals("arm")) cpu = "arm32";
        return system + "-" + cpu;
    }

    private static void loadFromJar(UnsatisfiedLinkError elsewhere) {
        String file = System.mapLibraryName(NAME);
        String resource = "native/" + platform() + "/" + file;
        try (InputStream packed = Core.class.getResourceAsStream(resource)) {
            if (packed == null)
                throw refused(
                        "is neither on java.library.path nor in the jar for " + platform() + "; build it there: make java", elsewhere);
            Path copy = Files.createTempFile("edgeret", file);
            try {
                Files.copy(packed, copy, StandardCopyOption.REPLACE_EXISTING);
                System.load(copy.toAbsolutePath().toString());
            } finally {
                // What is loaded stays loaded; Windows alone keeps the file until the end.
                if (!copy.toFile().delete()) copy.toFile().deleteOnExit();
            }
        } catch (IOException | UnsatisfiedLinkError e) {
            throw refused(
                    "cannot be loaded out of the jar (" + e.getMessage() + "); name another folder with -Djava.io.tmpdir=…, or one"
                            + " that has the library with -Djava.library.path=…",
                    e);
        }
    }

    private static EdgeretException refused(String words, @Nullable Throwable cause) {
        EdgeretException made = new EdgeretException(EdgeretException.Code.FILE, "the native library " + NAME + " " + words);
        if (cause != null) made.initCause(cause);
        return made;
    }
}
