/**
 * Which function an assistant calls next, decided on the device.
 *
 * <p>{@link Model} is a loaded bundle, {@link Task} one request, step by step. Nothing is null unless it is marked. Failures
 * are {@link EdgeretException}, unchecked, with one line that says how to go on.
 */
@NullMarked
package edgeret;

import org.jspecify.annotations.NullMarked;
