package edgeret;

import org.jspecify.annotations.Nullable;

/**
 * What comes next, and why.
 *
 * @param tool the tool to call; null where nothing is to be called
 * @param probability of the best candidate, calibrated, whether or not it was taken
 * @param reason why the decision is as it is
 * @param abstained no answer; otherwise call the tool, or without one end the plan
 * @param confirm the tool asks that a person confirms its calls
 * @param named the request says the tool's name
 * @param stage what decided
 * @param demonstrated demonstrations decided, and not the tools alone
 * @param floor the probability that an answer needed
 * @param best the best candidate, also where it was not taken; null for the end
 */
public record Decision(
        @Nullable String tool,
        double probability,
        Reason reason,
        boolean abstained,
        boolean confirm,
        boolean named,
        Stage stage,
        boolean demonstrated,
        double floor,
        @Nullable String best) {

    /** Why a decision is as it is. */
    public enum Reason {
        /** The most probable one. */
        PROBABLE,
        /** Abstained: calling nothing is most probable. */
        NOTHING_FITS,
        /** Abstained: below the floor. */
        UNSURE,
        /** Abstained: every tool failed. */
        ALL_FAILED,
        /** Nothing is left to do. */
        DONE
    }

    /** What decided. */
    public enum Stage {
        /** A table of token vectors. */
        TABLE,
        /** A transformer. */
        TRANSFORMER
    }
}
