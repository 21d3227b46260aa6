package edgeret;

/**
 * A tool that words found.
 *
 * @param tool its name
 * @param score by which hits are ranked
 * @param share of what the words want: all shares sum to 1; by description 0
 * @param cosine of the words to the tool's text
 */
public record Hit(String tool, double score, double share, double cosine) {}
