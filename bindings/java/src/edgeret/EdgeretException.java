package edgeret;

import java.nio.charset.StandardCharsets;

/** A failure, in the library's one line: what is wrong, and how to go on. */
public final class EdgeretException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What kind of failure it is; the header's statuses, in their order. */
    public enum Code {
        /** An argument or option that does not fit, or something that was closed. */
        INPUT,
        /** A bundle that is damaged, forged or of another version. */
        BUNDLE,
        /** What is not there or cannot be read, this library's own native half among it. */
        FILE,
        /** No memory. */
        MEMORY,
        /** The bundle's encoder does not run here; give {@link Encoding}s of your own. */
        ENCODER,
        /** A task with as many calls, or failures, as it can hold: 256. */
        FULL,
        /** An overlay that is damaged, forged or another encoder's. */
        OVERLAY,
        /** What was to be learned or forgotten could not be written, and was not: no room, another writer. */
        NOT_KEPT
    }

    private final Code code;

    EdgeretException(Code code, String line) {
        super(line);
        this.code = code;
    }

    /** As native code throws it: the header's status, and its line in UTF-8. */
    EdgeretException(int status, byte[] line) {
        this(Code.values()[Math.min(Math.max(status, 1), Code.values().length) - 1], new String(line, StandardCharsets.UTF_8));
    }

    /** What kind of failure it is. */
    public Code code() {
        return code;
    }
}
