package edgeret;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How a request begins. Immutable: each method gives other options. {@code BeginOptions.DEFAULT.after(turn)} */
public final class BeginOptions {
    /** All tools, and words that stand alone. */
    public static final BeginOptions DEFAULT = new BeginOptions(null, null, null);

    final @Nullable List<String> tools;
    final @Nullable Task after;
    final @Nullable Encoding encoding;

    private BeginOptions(@Nullable List<String> tools, @Nullable Task after, @Nullable Encoding encoding) {
        this.tools = tools;
        this.after = after;
        this.encoding = encoding;
    }

    /** The names of the only tools that may be chosen, at least one. */
    public BeginOptions tools(Collection<String> names) {
        return new BeginOptions(new ArrayList<>(names), after, encoding);
    }

    /**
     * The turn before, where a conversation goes on: "and mail it to Jonas". What the new task needs of it is copied, so it may
     * be closed afterwards, or be begun after once more. Its model may be another one, as withTools made it.
     */
    public BeginOptions after(Task turn) {
        return new BeginOptions(tools, turn, encoding);
    }

    /** What an encoder of your own made of the words. */
    public BeginOptions encoding(Encoding made) {
        return new BeginOptions(tools, after, made);
    }
}
