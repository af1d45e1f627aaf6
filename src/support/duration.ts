import { DefinitionError } from "../errors.js";
import { describe } from "./check.js";

/**
 * A length of time as a person writes it: a number of seconds (`600`, `0.2`), or text with a unit
 * (`"250ms"`, `"30s"`, `"5m"`, `"24h"`, `"7d"`).
 */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
// Linear: no two parts of it can match the same character.
const TEXT = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/**
 * Turns a duration into whole milliseconds, once, at the edge. Rounds up, so that a positive time never becomes none.
 *
 * @throws {DefinitionError} unless it is a finite time greater than zero (or zero, where `zero` allows it).
 */
export function toMs(option: string, duration: Duration, { zero = false }: { zero?: boolean } = {}): number {
  const ms = parse(duration);
  if (ms === undefined || !Number.isSafeInteger(ms) || ms < 0 || (ms === 0 && !zero)) {
    throw new DefinitionError(
      `${option} must be a time ${zero ? "of zero or more" : "greater than zero"}, got ${describe(duration)}. ` +
        `Give a number of seconds (0.2, 600) or text with a unit ("250ms", "30s", "5m", "24h", "7d").`,
    );
  }
  return ms;
}

function parse(duration: unknown): number | undefined {
  if (typeof duration === "number") return Math.ceil(round(duration * 1_000));
  if (typeof duration !== "string") return undefined;
  const [, amount, unit] = TEXT.exec(duration) ?? [];
  const scale = unit === undefined ? undefined : UNITS[unit];
  return scale === undefined ? undefined : Math.ceil(round(Number(amount) * scale));
}

/** Takes off the dust of binary fractions, so that 0.003 s is 3 ms and not the 4 that rounding 3.0000000000000004 up gives. */
function round(ms: number): number {
  return Number(ms.toPrecision(15));
}
