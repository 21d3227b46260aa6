package edgeret;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The files of a bundle in memory, which a model, its tasks and all that was made of it share: who leaves last frees them. */
final class BundleFiles {
    private final List<byte[]> names = new ArrayList<>();
    private final List<ByteBuffer> contents = new ArrayList<>();
    private final List<ByteBuffer> taken = new ArrayList<>();
    private int users = 1;

    /**
     * Those of `files` that this loading reads, by name; each a byte[] or a ByteBuffer. Throws EdgeretException for another
     * content, and where there is no manifest.
     */
    BundleFiles(Map<String, ?> files, LoadOptions options) {
        try {
            Object manifest = files.get("manifest");
            if (manifest == null)
                throw new EdgeretException(EdgeretException.Code.BUNDLE, "no bundle, since there is no file \"manifest\"");
            add("manifest", manifest);
            for (byte[] listed : Core.list(contents.get(0), options.tiny)) {
                Object content = files.get(Text.of(listed));
                if (content != null) add(Text.of(listed), content);
            }
        } catch (Throwable e) {
            leave();
            throw e;
        }
    }

    private void add(String name, Object content) {
        ByteBuffer given;
        if (content instanceof byte[]) given = ByteBuffer.wrap((byte[]) content);
        else if (content instanceof ByteBuffer) given = ((ByteBuffer) content).slice();
        else
            throw new EdgeretException(
                    EdgeretException.Code.INPUT,
                    name + ": expected a byte[] or a ByteBuffer, found " + content.getClass().getName());
        names.add(Text.bytes("name", name));
        // Mapped read-only, nobody writes it behind the loading's checks; all else is copied before it is proved.
        contents.add(given.isDirect() && given.isReadOnly() ? given : copied(given));
    }

    private ByteBuffer copied(ByteBuffer given) {
        ByteBuffer made = Core.allocate(given.remaining());
        taken.add(made);
        made.put(given);
        return made;
    }

    long load(LoadOptions options, byte[] hash) {
        return Core.loadFiles(
                names.toArray(new byte[0][]), contents.toArray(new ByteBuffer[0]), hash, options.mostLoss, options.tiny, options.threads);
    }

    synchronized BundleFiles join() {
        users++;
        return this;
    }

    synchronized void leave() {
        if (--users > 0) return;
        for (ByteBuffer one : taken) Core.release(one);
        taken.clear();
        contents.clear();
    }
}
