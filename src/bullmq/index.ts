export { bullmqEngine } from "./engine.js";
export { EngineUnavailableError } from "./engine-unavailable.js";
export type { BullmqOptions } from "./options.js";
