package edgeret;

/** How a step is decided. Immutable: each method gives other options. {@code NextOptions.DEFAULT.risk(0.05)} */
public final class NextOptions {
    /** The bundle's own floor. */
    public static final NextOptions DEFAULT = new NextOptions(false, 0, 0);

    final boolean heads;
    final double minProbability;
    final double risk;

    private NextOptions(boolean heads, double minProbability, double risk) {
        this.heads = heads;
        this.minProbability = minProbability;
        this.risk = risk;
    }

    /** Never abstains. */
    public NextOptions heads() {
        return new NextOptions(true, minProbability, risk);
    }

    /** The least that an answer needs, 0 to 1. */
    public NextOptions minProbability(double least) {
        return new NextOptions(heads, least == 0 ? -1 : least, risk); // the library takes 0 for the bundle's own
    }

    /** In its place: the share of wrong answers that is allowed, 0.005 to 0.5. */
    public NextOptions risk(double share) {
        return new NextOptions(heads, minProbability, share);
    }
}
