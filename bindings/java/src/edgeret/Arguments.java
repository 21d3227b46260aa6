package edgeret;

import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;

/**
 * What a call is given.
 *
 * @param given by name in the schema's order, those first that a call must have
 * @param missing a question for each that a call must have and nobody said, or whose value is likelier wrong than right
 */
public record Arguments(Map<String, Argument> given, Map<String, String> missing) {
    /** The values as a JSON object, for the call; those of a confidence of `least` or more. */
    public String json(double least) {
        StringJoiner all = new StringJoiner(", ", "{", "}");
        given.forEach((name, one) -> {
            if (one.confidence() >= least) all.add(Text.json(name) + ": " + one.value().json());
        });
        return all.toString();
    }

    /**
     * One argument.
     *
     * @param span where its words stand in the request; null where it is not from there
     * @param confidence the share of such values that are right
     * @param alternatives others that may be meant, the likeliest first
     */
    public record Argument(Value value, Source source, @Nullable Span span, double confidence, List<Value> alternatives) {}

    /** Where a value is from. */
    public enum Source {
        /** Words of the request. */
        RULE,
        /** One of the schema's choices, or a Boolean. */
        CHOICE,
        /** What an earlier call gave; "$out_1" where nobody told what that was. */
        OUTPUT,
        /** An earlier call's argument of that name. */
        EARLIER,
        /** The schema's. */
        DEFAULT
    }

    /** A place in the request, as {@code query.substring(begin, end)} takes it. */
    public record Span(int begin, int end) {}

    /** A value's type in JSON. */
    public enum Type { NULL, BOOLEAN, INTEGER, NUMBER, STRING, ARRAY, OBJECT }

    /**
     * A value.
     *
     * @param text of a string what it says; of all others JSON
     */
    public record Value(Type type, String text) {
        /** The value as JSON. */
        public String json() {
            return type == Type.STRING ? Text.json(text) : text;
        }
    }
}
