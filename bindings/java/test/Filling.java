import edgeret.ArgumentOptions;
import edgeret.Arguments;
import edgeret.Arguments.Source;
import edgeret.Arguments.Type;
import edgeret.Arguments.Value;
import edgeret.EdgeretException;
import edgeret.EdgeretException.Code;
import edgeret.Model;
import edgeret.NextOptions;
import edgeret.Task;
import edgeret.ToolChange;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Set;

/** What calls are given, for tests/core/test_java.py: Filling CONFORMANCE. */
public final class Filling {
    private static final String BOOK = "{\"name\": \"book_table\", \"description\": \"Book a table at a restaurant.\", \"parameters\": {\"type\": \"object\","
            + " \"required\": [\"restaurant\", \"day\", \"guests\"], \"properties\": {\"restaurant\": {\"type\": \"string\"}, \"day\": {\"type\": \"string\","
            + " \"format\": \"date\"}, \"guests\": {\"type\": \"integer\"}, \"seat\": {\"enum\": [\"inside\", \"terrace\"]}}}}";
    private static final String MAIL = "{\"name\": \"mail_booking\", \"description\": \"Mail a booking to somebody.\", \"parameters\": {\"type\": \"object\","
            + " \"required\": [\"booking_id\", \"to\"], \"properties\": {\"booking_id\": {\"type\": \"string\", \"description\": \"as book_table gives it\"},"
            + " \"to\": {\"type\": \"string\", \"format\": \"email\"}, \"start\": {\"type\": \"string\", \"format\": \"date-time\"}}}}";
    private static final String QUERY = "😀 book a table for 4 guests at “Chez Anna” tomorrow, on the terrace";
    private static final LocalDateTime NOW = LocalDateTime.of(2026, 11, 27, 22, 15);

    public static void main(String[] given) throws Exception {
        try (Model loaded = Model.load(Path.of(given[0]).resolve("few"));
                Model model = loaded.withTools(new ToolChange().add(BOOK, MAIL))) {
            values(model);
            calls(model);
            many(model);
            refusals(model);
        }
        System.out.println("all fine");
    }

    private static void values(Model model) {
        try (Task task = model.begin(QUERY)) {
            Arguments found = task.arguments("book_table", ArgumentOptions.DEFAULT.now(NOW));
            check(found.missing().isEmpty(), found);
            check(List.copyOf(found.given().keySet()).equals(List.of("restaurant", "day", "guests", "seat")), found);
            check(found.json(0).equals("{\"restaurant\": \"Chez Anna\", \"day\": \"2026-11-28\", \"guests\": 4, \"seat\": \"terrace\"}"), found.json(0));
            check(found.json(2).equals("{}"), "nothing is that sure");
            Arguments.Span day = found.given().get("day").span();
            check(day != null && QUERY.substring(day.begin(), day.end()).equals("tomorrow"), "places are those of Java's strings");
            check(found.given().get("guests").value().equals(new Value(Type.INTEGER, "4")), found);
            check(found.given().get("seat").source() == Source.CHOICE && found.given().get("guests").source() == Source.RULE, found);
            Arguments without = task.arguments("book_table", ArgumentOptions.DEFAULT);
            check(!without.given().containsKey("day") && without.missing().get("day").contains("tomorrow"), without);
            check(task.arguments("book_table", ArgumentOptions.DEFAULT.now(NOW).rulesAlone()).equals(found), "there is no head here");
            String tool = task.next(NextOptions.DEFAULT.heads()).tool();
            if (tool != null) check(task.arguments().equals(task.arguments(tool, ArgumentOptions.DEFAULT)), tool);
        }
        try (Task task = model.begin("mail it to ana@example.com tomorrow at 3pm")) {
            OffsetDateTime there = NOW.atOffset(ZoneOffset.ofHoursMinutes(5, 30));
            String start = task.arguments("mail_booking", ArgumentOptions.DEFAULT.now(there)).given().get("start").value().text();
            check(start.equals("2026-11-28T15:00:00+05:30"), start);
        }
    }

    private static void calls(Model model) {
        try (Task task = model.begin("mail the booking to ana@example.com")) {
            task.call("book_table", "{\"restaurant\": \"Chez \\\"A\\\"\"}");
            check(value(task).equals(new Value(Type.STRING, "$out_1")), "nobody told what it gave");
            try (Task fork = task.fork()) {
                task.fail("mail_booking");
                task.undo(); // the failure
                task.undo(); // the call
                task.call("book_table", "{}", "{\"booking_id\": \"B-\\u0037\\\"\"}");
                check(value(task).json().equals("\"B-7\\\"\""), value(task).json());
                check(value(fork).text().equals("$out_1"), "a fork goes on from there");
            }
        }
    }

    private static Value value(Task task) {
        return task.arguments("mail_booking", ArgumentOptions.DEFAULT).given().get("booking_id").value();
    }

    private static void many(Model model) {
        StringBuilder names = new StringBuilder(), properties = new StringBuilder();
        for (int i = 0; i < 90; i++) {
            names.append(i == 0 ? "" : ", ").append("\"p").append(i).append('"');
            properties.append(i == 0 ? "" : ", ").append("\"p").append(i).append("\": {\"type\": \"integer\"}");
        }
        String wide = "{\"name\": \"set_all\", \"description\": \"Set all.\", \"parameters\": {\"type\": \"object\", \"required\": [" + names
                + "], \"properties\": {" + properties + "}}}";
        try (Model all = model.withTools(new ToolChange().add(wide)); Task task = all.begin("set 1 and 2")) {
            Set<String> asked = task.arguments("set_all", ArgumentOptions.DEFAULT).missing().keySet();
            check(asked.size() >= 88, asked); // more than there was room for at first
        }
    }

    private static void refusals(Model model) throws Exception {
        try (Task task = model.begin(QUERY)) {
            refused("no tool was decided", task::arguments);
            refused("unknown tool \"nobody\"", () -> task.arguments("nobody", ArgumentOptions.DEFAULT));
            refused("no day's time", () -> task.arguments("book_table", ArgumentOptions.DEFAULT.now(NOW.withYear(12_345))));
            refused("arguments: holds half a surrogate", () -> task.call("book_table", "\"\ud83d\""));
            task.call("book_table", "[1]");
            refused("must be an object", () -> task.arguments("mail_booking", ArgumentOptions.DEFAULT));
            task.undo();
            task.call("book_table", "{");
            refused("not JSON", () -> task.arguments("mail_booking", ArgumentOptions.DEFAULT));
            task.undo();
            task.close();
            refused("this task was closed", () -> task.arguments("mail_booking", ArgumentOptions.DEFAULT));
        }
    }

    private interface Act {
        void run() throws Exception;
    }

    private static void check(boolean fine, Object what) {
        if (!fine) throw new AssertionError(what);
    }

    private static void refused(String words, Act act) throws Exception {
        try {
            act.run();
        } catch (EdgeretException e) {
            check(e.code() == Code.INPUT && e.getMessage().contains(words), e.code() + ": " + e.getMessage() + " and not " + words);
            return;
        }
        throw new AssertionError("not refused: " + words);
    }
}
