export { bullmqEngine } from "./engine.js";
export type { BullmqOptions } from "./options.js";
