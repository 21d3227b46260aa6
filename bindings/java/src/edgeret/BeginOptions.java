package edgeret;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How a request begins. Immutable: each method gives other options. {@code BeginOptions.DEFAULT.after(turn)} */
public final class BeginOptions {
    /** All tools, and words that stand alone. */
    public static final BeginOptions DEFAULT = new BeginOptions(null, null, null, null);

    final @Nullable List<String> tools;
    final @Nullable Task after;
    final @Nullable Encoding encoding;
    final @Nullable Learner learner;

    private BeginOptions(
            @Nullable List<String> tools, @Nullable Task after, @Nullable Encoding encoding, @Nullable Learner learner) {
        this.tools = tools;
        this.after = after;
        this.encoding = encoding;
        this.learner = learner;
    }

    /** The names of the only tools that may be chosen, at least one. */
    public BeginOptions tools(Collection<String> names) {
        return new BeginOptions(new ArrayList<>(names), after, encoding, learner);
    }

    /**
     * The turn before, where a conversation goes on: "and mail it to Jonas". What the new task needs of it is copied, so it may
     * be closed afterwards, or be begun after once more. Its model may be another one, as withTools made it.
     */
    public BeginOptions after(Task turn) {
        return new BeginOptions(tools, turn, encoding, learner);
    }

    /** What an encoder of your own made of the words. */
    public BeginOptions encoding(Encoding made) {
        return new BeginOptions(tools, after, made, learner);
    }

    /** Whose knowledge decides, too, and grows by {@link Task#learn}. */
    public BeginOptions learner(Learner knows) {
        return new BeginOptions(tools, after, encoding, knows);
    }
}
