package edgeret;

import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import org.jspecify.annotations.Nullable;

/** How arguments are read. Immutable: each method gives other options. {@code ArgumentOptions.DEFAULT.now(OffsetDateTime.now())} */
public final class ArgumentOptions {
    /** No clock, and all that the bundle has. */
    public static final ArgumentOptions DEFAULT = new ArgumentOptions(null, false);

    final int @Nullable [] clock;
    final boolean rulesAlone;

    private ArgumentOptions(int @Nullable [] clock, boolean rulesAlone) {
        this.clock = clock;
        this.rulesAlone = rulesAlone;
    }

    /** What "tomorrow" is counted from; without it such days have no date. */
    public ArgumentOptions now(LocalDateTime time) {
        return new ArgumentOptions(clock(time, 0, 0), rulesAlone);
    }

    /** The same with its distance from UTC, for values that must have one. */
    public ArgumentOptions now(OffsetDateTime time) {
        return new ArgumentOptions(clock(time.toLocalDateTime(), 1, time.getOffset().getTotalSeconds() / 60), rulesAlone);
    }

    /** What the bundle has for arguments is left aside. */
    public ArgumentOptions rulesAlone() {
        return new ArgumentOptions(clock, true);
    }

    private static int[] clock(LocalDateTime time, int zoned, int zone) {
        return new int[] {
            time.getYear(), time.getMonthValue(), time.getDayOfMonth(), time.getHour(), time.getMinute(), time.getSecond(), zoned, zone
        };
    }
}
