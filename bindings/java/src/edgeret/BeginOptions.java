package edgeret;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How a request begins. Immutable: each method gives other options. {@code BeginOptions.DEFAULT.tools(names)} */
public final class BeginOptions {
    /** All tools, and words that stand alone. */
    public static final BeginOptions DEFAULT = new BeginOptions(null, null, null, null);

    final @Nullable List<String> tools;
    final @Nullable List<List<String>> earlier;
    final @Nullable Encoding encoding;
    final @Nullable Learner learner;

    private BeginOptions(
            @Nullable List<String> tools,
            @Nullable List<List<String>> earlier,
            @Nullable Encoding encoding,
            @Nullable Learner learner) {
        this.tools = tools;
        this.earlier = earlier;
        this.encoding = encoding;
        this.learner = learner;
    }

    /** The names of the only tools that may be chosen, at least one. */
    public BeginOptions tools(Collection<String> names) {
        return new BeginOptions(new ArrayList<>(names), earlier, encoding, learner);
    }

    /**
     * Where a conversation goes on ("and mail it to Jonas"): the calls of each turn before, by their tools' names, oldest
     * first. You keep them, over restarts if you like, and drop the last turn where the user takes it back.
     */
    public BeginOptions earlier(Collection<? extends Collection<String>> turns) {
        List<List<String>> copy = new ArrayList<>(turns.size());
        for (Collection<String> calls : turns) copy.add(new ArrayList<>(calls));
        return new BeginOptions(tools, copy, encoding, learner);
    }

    /** Of all turns the calls, in one list; null for a request that stands alone. */
    byte @Nullable [][] calls() {
        if (earlier == null) return null;
        List<String> all = new ArrayList<>();
        for (List<String> calls : earlier) all.addAll(calls);
        return Text.bytes("earlier", all);
    }

    /** How many of them the latest turn made that made any. */
    int last() {
        for (int i = earlier == null ? 0 : earlier.size(); i-- > 0; ) if (!earlier.get(i).isEmpty()) return earlier.get(i).size();
        return 0;
    }

    /** What an encoder of your own made of the words. */
    public BeginOptions encoding(Encoding made) {
        return new BeginOptions(tools, earlier, made, learner);
    }

    /** Whose knowledge decides, too, and grows by {@link Task#learn}. */
    public BeginOptions learner(Learner knows) {
        return new BeginOptions(tools, earlier, encoding, knows);
    }
}
