package edgeret;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One handle of the header: given back once, by close() or when nobody can reach its owner any more, and never while a call
 * is in it. Knows nothing of what it is a handle to. java.lang.ref.Cleaner would do half of it, and came to Android with 13.
 */
final class Handle extends PhantomReference<Object> {
    private static final ReferenceQueue<Object> UNREACHABLE = new ReferenceQueue<>();
    private static final Set<Handle> OPEN = ConcurrentHashMap.newKeySet();

    static {
        Thread thread = new Thread(Handle::giveBack, "edgeret-handles");
        thread.setDaemon(true);
        thread.setContextClassLoader(null);
        thread.start();
    }

    private final LongConsumer giver;
    private final @Nullable BundleFiles files;
    private final String closedWords;
    private long address;
    private int calls;
    private boolean closed;

    /** `giver` ends what is at `address`; `files` must stay until then; `closedWords` is the failure of a later call. */
    Handle(Object owner, long address, LongConsumer giver, @Nullable BundleFiles files, String closedWords) {
        super(owner, UNREACHABLE);
        this.address = address;
        this.giver = giver;
        this.files = files;
        this.closedWords = closedWords;
        OPEN.add(this);
    }

    /** The address, which stays until leave() is called as often. Throws EdgeretException once it is closed. */
    synchronized long enter() {
        if (closed) throw new EdgeretException(EdgeretException.Code.INPUT, closedWords);
        calls++;
        return address;
    }

    synchronized void leave() {
        calls--;
        giveBackIfUnused();
    }

    synchronized void close() {
        if (closed) return;
        closed = true;
        OPEN.remove(this);
        clear();
        giveBackIfUnused();
    }

    private void giveBackIfUnused() {
        if (!closed || calls > 0 || address == 0) return;
        giver.accept(address);
        address = 0;
        if (files != null) files.leave();
    }

    private static void giveBack() {
        while (true) {
            try {
                ((Handle) UNREACHABLE.remove()).close();
            } catch (InterruptedException e) {
                // Nobody but a stranger interrupts this thread, and handles go on becoming unreachable.
            }
        }
    }
}
