package edgeret;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A plan that was learned.
 *
 * @param id by which it can be forgotten
 * @param query the user's words; null where they were not kept
 * @param calls names of tools, in order; none where nothing fitted
 * @param source why it was learned
 * @param learnedAt when
 */
public record Plan(long id, @Nullable String query, List<String> calls, Source source, Instant learnedAt) {
    /** Why a plan was learned; all count alike. */
    public enum Source {
        /** The user was content. */
        ACCEPTED,
        /** The user put it right. */
        CORRECTED,
        /** It was shown. */
        DEMONSTRATION
    }
}
