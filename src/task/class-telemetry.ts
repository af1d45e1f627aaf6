import { Telemetry } from "../telemetry/emitter.js";
import { declarationsChanged, lineage } from "./metadata.js";

const telemetries = new WeakMap<object, Telemetry>();

/** The listeners of one class, which also hear the runs of its subclasses. Made when somebody first asks for it. */
export function telemetryOf(type: object): Telemetry {
  let telemetry = telemetries.get(type);
  if (telemetry === undefined) {
    telemetry = new Telemetry();
    telemetries.set(type, telemetry);
    declarationsChanged();
  }
  return telemetry;
}

/** Those of a class and its ancestors that exist. */
export function telemetriesOf(type: object): readonly Telemetry[] {
  return lineage(type).flatMap((at) => telemetries.get(at) ?? []);
}
