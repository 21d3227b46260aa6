package edgeret;

import org.jspecify.annotations.Nullable;

/**
 * What could come next.
 *
 * @param tool null for the end
 * @param probability calibrated; all of a step's sum to 1
 */
public record Candidate(@Nullable String tool, double probability) {}
