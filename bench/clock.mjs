/** What is counted: the time that passes, or the processor time of this process (for a machine where others are at work). */

const CLOCKS = {
  wall: () => performance.now() * 1e6,
  processor() {
    const { user, system } = process.cpuUsage();
    return (user + system) * 1e3;
  },
};

/** @param {"wall" | "processor"} name
 * @returns {() => number} Nanoseconds. */
export function clockOf(name) {
  return CLOCKS[name];
}
