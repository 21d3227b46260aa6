package edgeret;

/**
 * What was learned so far.
 *
 * @param stored plans, in all
 * @param used false while what was learned does worse than the bundle alone, and is left aside
 * @param gain nats a plan over the bundle, of the last ten or so
 * @param bytes of the numbers, as they are written
 * @param id of the plan that {@link Task#learn} learned; -1 from {@link Learner#learned}
 */
public record Learned(int stored, boolean used, double gain, long bytes, long id) {
    static Learned of(long[] numbers, double gain) {
        return new Learned((int) numbers[0], numbers[1] != 0, gain, numbers[2], numbers[3]);
    }
}
