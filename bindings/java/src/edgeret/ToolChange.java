package edgeret;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Tools that come and go: {@code new ToolChange().add(json).remove("lock_door")}. A definition is a JSON object as tools.json
 * has it: name, description, parameters; where the tool has any, examples, risk and confirm.
 */
public final class ToolChange {
    final List<String> added = new ArrayList<>();
    final List<String> removed = new ArrayList<>();
    final List<String> replaced = new ArrayList<>();

    /** Definitions of tools that come. */
    public ToolChange add(String... definitions) {
        Collections.addAll(added, definitions);
        return this;
    }

    /** Names of tools that go; one of these may be added anew. */
    public ToolChange remove(String... names) {
        Collections.addAll(removed, names);
        return this;
    }

    /** Definitions that stand in the place of those with their names. */
    public ToolChange replace(String... definitions) {
        Collections.addAll(replaced, definitions);
        return this;
    }
}
