import edgeret.Candidate;
import edgeret.EdgeretException;
import edgeret.Model;
import edgeret.Task;
import edgeret.ToolChange;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Threads, and memory that comes back, for tests/core/test_java.py: Threads CONFORMANCE. Wants a heap that is there from the start. */
public final class Threads {
    private static final List<String> QUERIES = List.of("find my file and send a mail", "write a note", "zebra", "play music, then call a phone");
    private static final long PATIENCE_S = 300;

    public static void main(String[] given) throws Exception {
        Path bundle = Path.of(given[0]).resolve("few");
        oneModel(bundle);
        closedMeanwhile(bundle);
        oneTask(bundle);
        forgotten(bundle);
        leaks(bundle);
        System.out.println("all fine");
    }

    private static List<List<Candidate>> answers(Model model) {
        List<List<Candidate>> found = new ArrayList<>();
        for (String query : QUERIES)
            try (Task task = model.begin(query)) {
                task.next();
                found.add(task.candidates(100));
                task.call("find_file");
                task.next();
                found.add(task.candidates(100));
            }
        return found;
    }

    /** Runs it in as many threads at a time; the first failure ends all. */
    private static <T> List<T> together(int threads, Callable<T> work) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Future<T>> begun = new ArrayList<>();
            for (int i = 0; i < threads; i++) begun.add(pool.submit(work));
            List<T> found = new ArrayList<>();
            for (Future<T> one : begun) found.add(one.get(PATIENCE_S, TimeUnit.SECONDS));
            return found;
        } finally {
            pool.shutdownNow();
        }
    }

    private static void oneModel(Path bundle) throws Exception {
        try (Model model = Model.load(bundle)) {
            List<List<Candidate>> wanted = answers(model);
            together(2, () -> {
                for (int i = 0; i < 100; i++) check(answers(model).equals(wanted), "threads that share a model decide otherwise");
                return null;
            });
        }
    }

    /** A model that is closed while others are in it: they come to their end, or are told so. */
    private static void closedMeanwhile(Path bundle) throws Exception {
        int told = 0;
        for (int round = 0; round < 20; round++) {
            Model model = Model.load(bundle);
            List<List<Candidate>> wanted = answers(model);
            Thread closer = new Thread(model::close);
            List<Integer> failures = together(3, () -> {
                for (int i = 0; ; i++)
                    try {
                        if (i == 3) closer.start();
                        check(answers(model).equals(wanted), "another decision");
                        model.withTools(new ToolChange().remove("zebra_" + i));
                    } catch (IllegalThreadStateException started) {
                        continue;
                    } catch (EdgeretException e) {
                        if (e.getMessage().contains("unknown tool")) continue;
                        check(e.getMessage().contains("was closed"), e.getMessage());
                        return 1;
                    }
            });
            closer.join();
            told += failures.size();
        }
        check(told == 60, "all threads are told");
    }

    /** Threads that share a task wait for each other, and one that closes it harms none. */
    private static void oneTask(Path bundle) throws Exception {
        try (Model model = Model.load(bundle)) {
            for (int round = 0; round < 20; round++) {
                Task task = model.begin(QUERIES.get(0));
                together(3, () -> {
                    try {
                        for (int i = 0; i < 60; i++) {
                            task.call("find_file");
                            task.next();
                            task.fork().close();
                            task.undo();
                        }
                        task.close();
                    } catch (EdgeretException e) {
                        check(e.getMessage().contains("was closed"), e.getMessage());
                    }
                    return null;
                });
            }
        }
    }

    /** What nobody closed is given back once nobody can reach it. */
    private static void forgotten(Path bundle) throws Exception {
        Class<?> handles = Class.forName("edgeret.Handle");
        Field open = handles.getDeclaredField("OPEN");
        open.setAccessible(true);
        Collection<?> all = (Collection<?>) open.get(null);
        check(all.isEmpty(), all.size() + " handles are left");
        for (int i = 0; i < 50; i++) Model.load(bundle).begin(QUERIES.get(0)).next();
        for (int i = 0; !all.isEmpty() && i < 10 * PATIENCE_S; i++) {
            System.gc();
            Thread.sleep(100);
        }
        check(all.isEmpty(), all.size() + " forgotten handles were not given back");
    }

    private static void leaks(Path bundle) throws Exception {
        try (Model model = Model.load(bundle)) {
            work(model, 3000);
            long before = resident();
            work(model, 10_000);
            long more = resident() - before;
            System.out.println("10,000 tasks: " + more + " kB more");
            check(more < 16_000, "10,000 tasks left " + more + " kB");
        }
    }

    private static void work(Model model, int tasks) {
        for (int i = 0; i < tasks; i++)
            try (Task task = model.begin(QUERIES.get(i % QUERIES.size()))) {
                task.next();
                task.candidates(5);
                if (i % 100 == 0) model.withTools(new ToolChange().remove("play_music")).close();
                if (i % 10 == 0) refused(model);
            }
    }

    private static void refused(Model model) {
        try {
            model.begin(" ");
        } catch (EdgeretException e) {
            return;
        }
        throw new AssertionError("not refused");
    }

    /** kB of this process in memory; 0 where the system does not tell. */
    private static long resident() throws Exception {
        Path status = Path.of("/proc/self/status");
        if (!Files.exists(status)) return 0;
        for (String line : Files.readAllLines(status))
            if (line.startsWith("VmRSS:")) return Long.parseLong(line.replaceAll("\\D", ""));
        return 0;
    }

    private static void check(boolean fine, String what) {
        if (!fine) throw new AssertionError(what);
    }
}
