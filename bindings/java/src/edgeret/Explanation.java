package edgeret;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Why a decision came out as it did.
 *
 * @param compared the candidates, by their tools' names; null is the end
 * @param votes what each part of the decision says of them
 * @param near the nearest demonstrations, nearest first
 * @param words the request's, and which candidates have them
 * @param cluster what requests like this one mostly call next; `probability` is a share
 * @param similarity the cosine to the nearest cluster of demonstrations; NaN without any
 */
public record Explanation(
        List<@Nullable String> compared,
        List<Vote> votes,
        List<Demonstration> near,
        List<Word> words,
        List<Candidate> cluster,
        double similarity) {
    /** What a decision rests on. WORDS to EXAMPLES are what PRIOR, the tools' own word, is made of. */
    public enum Part {
        HEAD, PRIOR, WORDS, MEANING, FLOW, VALUES, EXAMPLES, GRAPH,
        /** Steps of demonstrations that the bundle keeps. */
        MEMORY,
        /** What was learned on this device. */
        LEARNED,
        /** How far the request is from what was demonstrated. */
        FAMILIARITY
    }

    /**
     * What a part says by itself.
     *
     * @param within the part that it is a part of, or null
     * @param weight 0 where it has no say
     * @param pull nats that it adds to the odds of the first candidate against the second; NaN: nothing to say
     * @param shares of each candidate; NaN where it says nothing of it
     */
    public record Vote(Part part, @Nullable Part within, double weight, double pull, List<Double> shares) {}

    /**
     * A demonstration near the request.
     *
     * @param query null where its words were not kept
     * @param learned whether on this device
     */
    public record Demonstration(@Nullable String query, List<String> calls, boolean learned, double cosine) {}

    /**
     * A word of the request.
     *
     * @param unknown no tool has it
     * @param in the candidates that have it
     */
    public record Word(String word, boolean unknown, List<String> in) {}
}
