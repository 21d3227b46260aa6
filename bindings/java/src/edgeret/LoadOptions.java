package edgeret;

import org.jspecify.annotations.Nullable;

/** How a bundle is loaded. Immutable: each method gives other options. {@code LoadOptions.DEFAULT.tiny().threads(2)} */
public final class LoadOptions {
    /** The large encoder too, on one thread, any bundle. */
    public static final LoadOptions DEFAULT = new LoadOptions(null, 0, false, 0);

    final @Nullable String contentHash;
    final double mostLoss;
    final boolean tiny;
    final int threads;

    private LoadOptions(@Nullable String contentHash, double mostLoss, boolean tiny, int threads) {
        this.contentHash = contentHash;
        this.mostLoss = mostLoss;
        this.tiny = tiny;
        this.threads = threads;
    }

    /** The small encoder decides everything, and the large one is not read. */
    public LoadOptions tiny() {
        return new LoadOptions(contentHash, mostLoss, true, threads);
    }

    /** 64 hex digits that the bundle must have, got over a way that is trusted. */
    public LoadOptions contentHash(String hash) {
        return new LoadOptions(hash, mostLoss, tiny, threads);
    }

    /** Accuracy that asking the small encoder first may cost; 0 for the usual 0.005, below 0 it is never asked. */
    public LoadOptions mostLoss(double loss) {
        return new LoadOptions(contentHash, loss, tiny, threads);
    }

    /** Threads that encode a text, 1 or more. */
    public LoadOptions threads(int count) {
        return new LoadOptions(contentHash, mostLoss, tiny, count == 0 ? -1 : count); // the library takes 0 for 1
    }
}
