package edgeret;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Objects;

/** Java's text to the header's and back. JNI's own UTF-8 writes U+0000 and all beyond U+FFFF otherwise, so bytes go over. */
final class Text {
    private static final int SHOWN = 80;

    private Text() {}

    /** A text as UTF-8. `what` names it in the failure of half a surrogate pair, which UTF-8 cannot hold. */
    static byte[] bytes(String what, String text) {
        byte[] bytes = Objects.requireNonNull(text, what).getBytes(StandardCharsets.UTF_8);
        if (!of(bytes).equals(text))
            throw new EdgeretException(
                    EdgeretException.Code.INPUT, what + ": holds half a surrogate pair, which no text can; check its encoding");
        return bytes;
    }

    static byte[][] bytes(String what, Collection<String> texts) {
        byte[][] found = new byte[texts.size()][];
        int i = 0;
        for (String text : texts) found[i++] = bytes(what, text);
        return found;
    }

    /** A path as the system has it: on Unix its bytes, whatever this machine's locale makes of them. */
    static byte[] bytes(Path path) {
        String text = path.toString();
        if (File.separatorChar != '/' || text.chars().allMatch(c -> c < 128)) return bytes("path", text);
        String raw = path.toUri().getRawPath();
        ByteArrayOutputStream found = new ByteArrayOutputStream();
        for (int i = 0; i < raw.length(); i++) {
            boolean escaped = raw.charAt(i) == '%';
            found.write(escaped ? Integer.parseInt(raw.substring(i + 1, i += 3), 16) : raw.charAt(i));
            if (escaped) i--;
        }
        return found.toByteArray();
    }

    static String of(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** A text in JSON. */
    static String json(String text) {
        StringBuilder made = new StringBuilder("\"");
        for (char c : text.toCharArray())
            if (c == '"' || c == '\\') made.append('\\').append(c);
            else if (c < 0x20) made.append(String.format("\\u%04x", (int) c));
            else made.append(c);
        return made.append('"').toString();
    }

    /** A stranger's word in a message: in quotes, not too long, nothing in it that a screen obeys or hides. */
    static String shown(String word) {
        StringBuilder shown = new StringBuilder("\"");
        word.codePoints().limit(SHOWN).forEach(point -> {
            int kind = Character.getType(point);
            boolean seen = !Character.isISOControl(point) && kind != Character.FORMAT && kind != Character.SURROGATE
                    && kind != Character.LINE_SEPARATOR && kind != Character.PARAGRAPH_SEPARATOR;
            if (seen) shown.appendCodePoint(point);
            else shown.append(String.format("\\u%04x", point));
        });
        return shown.append(word.codePointCount(0, word.length()) > SHOWN ? "…\"" : "\"").toString();
    }
}
