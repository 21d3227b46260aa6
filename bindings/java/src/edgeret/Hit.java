package edgeret;

/**
 * A tool that words found.
 *
 * @param tool its name
 * @param score by which hits are ranked
 * @param share of all tools, which sum to 1
 */
public record Hit(String tool, double score, double share) {}
