import edgeret.Candidate;
import edgeret.Decision;
import edgeret.Hit;
import edgeret.LoadOptions;
import edgeret.Model;
import edgeret.SearchOptions;
import edgeret.Task;
import edgeret.ToolChange;
import edgeret.Tokens;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;

/**
 * What the JVM makes of requests, as core/test/conformance.c writes it, for tests/core/test_java.py.
 *
 * <p>Requests BUNDLE folder|bytes|mapped|tiny [TOOLS] &lt; requests: a line is a request, the query and what was called between
 * tabs; TOOLS are definitions, one a line, that stand in for the bundle's own.
 */
public final class Requests {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] given) throws IOException {
        Path folder = Path.of(given[0]);
        try (Model loaded = load(folder, given[1]);
                Model model = given.length > 2 ? loaded.withTools(instead(loaded, Path.of(given[2]))) : loaded) {
            OUT.println("{\"contentHash\":" + quoted(model.contentHash()) + ",\"tools\":" + list(model.tools()) + "}");
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line; (line = in.readLine()) != null; ) answer(model, line.split("\t", -1));
        }
        OUT.flush();
    }

    private static Model load(Path folder, String how) throws IOException {
        if (how.equals("folder")) return Model.load(folder);
        if (how.equals("tiny")) return Model.load(folder, LoadOptions.DEFAULT.tiny());
        Map<String, Object> files = new HashMap<>();
        byte[] manifest = Files.readAllBytes(folder.resolve("manifest"));
        files.put("manifest", manifest);
        for (String name : Model.files(manifest, LoadOptions.DEFAULT)) {
            Path file = folder.resolve(name);
            if (how.equals("bytes")) files.put(name, Files.readAllBytes(file));
            else
                try (FileChannel channel = FileChannel.open(file)) {
                    files.put(name, channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()));
                }
        }
        return Model.load(files);
    }

    private static ToolChange instead(Model model, Path tools) throws IOException {
        return new ToolChange()
                .remove(model.tools().toArray(new String[0]))
                .add(Files.readAllLines(tools, StandardCharsets.UTF_8).toArray(new String[0]));
    }

    private static void answer(Model model, String[] request) {
        try (Task task = model.begin(request[0])) {
            for (int i = 1; i < request.length; i++) task.call(request[i]);
            Decision next = task.next();
            StringJoiner fields = new StringJoiner(",", "{", "}");
            fields.add("\"tool\":" + (next.tool() == null ? "null" : quoted(next.tool())));
            fields.add("\"abstained\":" + next.abstained()).add("\"confirm\":" + next.confirm());
            fields.add("\"probability\":" + next.probability()).add("\"stage\":" + quoted(next.stage().name()));
            fields.add("\"reason\":" + quoted(next.reason().name()));
            StringJoiner candidates = new StringJoiner(",", "[", "]");
            for (Candidate one : task.candidates(Integer.MAX_VALUE))
                candidates.add("[" + quoted(one.tool() == null ? "<end>" : one.tool()) + "," + one.probability() + "]");
            fields.add("\"candidates\":" + candidates);
            if (request.length == 1) texts(model, request[0], fields);
            OUT.println(fields);
        }
    }

    private static final SearchOptions HYBRID = SearchOptions.DEFAULT.strategy(SearchOptions.Strategy.HYBRID);

    private static void texts(Model model, String query, StringJoiner fields) {
        StringJoiner hits = new StringJoiner(",", "[", "]"), spans = new StringJoiner(",", "[", "]");
        for (Hit hit : model.search(query, Integer.MAX_VALUE, HYBRID)) hits.add("[" + quoted(hit.tool()) + "," + hit.share() + "]");
        Tokens tokens = model.tokens(query);
        for (int i = 0; i < tokens.ids().length; i++) spans.add("[" + tokens.begins()[i] + "," + tokens.ends()[i] + "]");
        StringJoiner vector = new StringJoiner(",", "[", "]");
        for (float value : model.encode(query)) vector.add(Float.toString(value));
        fields.add("\"search\":" + hits).add("\"spans\":" + spans).add("\"vector\":" + vector);
    }

    private static String list(List<String> names) {
        StringJoiner all = new StringJoiner(",", "[", "]");
        for (String name : names) all.add(quoted(name));
        return all.toString();
    }

    private static String quoted(String text) {
        StringBuilder made = new StringBuilder("\"");
        for (char c : text.toCharArray())
            if (c < 0x20 || c == '"' || c == '\\') made.append(String.format("\\u%04x", (int) c));
            else made.append(c);
        return made.append('"').toString();
    }
}
