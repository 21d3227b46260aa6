package edgeret;

/**
 * A query's tokens without special ones, as the bundle's tokenizer has them; three arrays of one length.
 *
 * @param ids in the vocabulary
 * @param begins where each begins: code points, and not chars, of the encoder's prefix and the query behind it
 * @param ends where each ends
 */
public record Tokens(int[] ids, int[] begins, int[] ends) {}
