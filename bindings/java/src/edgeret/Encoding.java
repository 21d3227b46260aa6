package edgeret;

/**
 * What an encoder of your own made of a query, by the tokens of {@link Model#tokens}.
 *
 * @param vector (dimension), of length 1
 * @param tokens (count × dimension), row by row
 * @param begins (count), as {@link Tokens} has them
 * @param ends (count)
 */
public record Encoding(float[] vector, float[] tokens, int[] begins, int[] ends) {
    /** Throws EdgeretException where lengths do not fit each other. */
    public Encoding {
        if (begins.length != ends.length || tokens.length != (long) begins.length * vector.length)
            throw new EdgeretException(
                    EdgeretException.Code.INPUT,
                    "an encoding of " + vector.length + " numbers needs as many of each token, found " + tokens.length + " for "
                            + begins.length + " begins and " + ends.length + " ends");
    }
}
