import { brand, TaskwrightError } from "../errors.js";

/** A queue's engine could not be reached, or did not answer in time. `cause` is what came of it. */
export class EngineUnavailableError extends TaskwrightError {
  readonly code = "engine_unavailable";
}

brand(EngineUnavailableError, "EngineUnavailableError");
