package edgeret;

import org.jspecify.annotations.Nullable;

/** How tools are searched for. Immutable: each method gives other options. {@code SearchOptions.DEFAULT.strategy(HYBRID)} */
public final class SearchOptions {
    /** By what tools are ranked; the order is the library's. */
    public enum Strategy {
        /** By what was demonstrated and learned where words are like that, else as hybrid. */
        AUTO,
        /** By the tools' own words, and by meaning, whatever was demonstrated. */
        HYBRID,
        /** By the cosine alone. */
        DESCRIPTION
    }

    /** By what was demonstrated, and nothing learned. */
    public static final SearchOptions DEFAULT = new SearchOptions(Strategy.AUTO, null);

    final Strategy strategy;
    final @Nullable Learner learner;

    private SearchOptions(Strategy strategy, @Nullable Learner learner) {
        this.strategy = strategy;
        this.learner = learner;
    }

    /** By what tools are ranked. */
    public SearchOptions strategy(Strategy by) {
        return new SearchOptions(by, learner);
    }

    /** Whose knowledge ranks, too. */
    public SearchOptions learner(Learner knows) {
        return new SearchOptions(strategy, knows);
    }
}
