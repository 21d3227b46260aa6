package edgeret;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** Reads numbers and texts that native code wrote one after the other. */
final class Told {
    private final ByteBuffer bytes;

    Told(byte[] bytes) {
        this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
    }

    double number() {
        return bytes.getDouble();
    }

    String text() {
        byte[] found = new byte[(int) number()];
        bytes.get(found);
        return Text.of(found);
    }

    /** So many of what `one` reads, which stands in front of them. */
    <T> List<T> list(Supplier<T> one) {
        List<T> found = new ArrayList<>();
        for (int left = (int) number(); left > 0; left--) found.add(one.get());
        return Collections.unmodifiableList(found);
    }

    /** So many names with what `one` reads of each, in their order. */
    <T> Map<String, T> map(Supplier<T> one) {
        Map<String, T> found = new LinkedHashMap<>();
        for (int left = (int) number(); left > 0; left--) {
            String name = text();
            found.put(name, one.get());
        }
        return Collections.unmodifiableMap(found);
    }

    List<String> texts() {
        return list(this::text);
    }
}
