import { DefinitionError } from "../errors.js";
import { checkFunction } from "../support/check.js";
import type { Task } from "./task.js";

/** When something declared on a class takes part in a run: both gates must pass. One rule for everything that has gates. */
export interface Gates<T extends Task = Task, Extra extends readonly unknown[] = []> {
  /** Takes part only if this answers true. */
  readonly if?: Gate<T, Extra> | null | undefined;
  /** Takes no part if this answers true. */
  readonly unless?: Gate<T, Extra> | null | undefined;
}

/** Called with the task as `this` and as argument. Answers at once: a promise is always truthy, so it is refused. */
export type Gate<T extends Task = Task, Extra extends readonly unknown[] = []> = (this: T, task: T, ...extra: Extra) => boolean;

export const GATE_OPTIONS: readonly string[] = ["if", "unless"];

/** @throws {DefinitionError} when a gate is no function. `null` clears an inherited gate. */
export function checkGates(owner: string, gates: { readonly if?: unknown; readonly unless?: unknown }): void {
  for (const name of ["if", "unless"] as const) {
    const gate = gates[name];
    if (gate !== undefined && gate !== null) checkFunction(`${owner}: ${name}`, gate);
  }
}

/** Do the gates let this through? What a gate throws, this throws. */
export function passes<T extends Task, Extra extends readonly unknown[]>(gates: Gates<T, Extra>, task: T, ...extra: Extra): boolean {
  if (gates.if !== undefined && gates.if !== null && !ask(gates.if, task, extra)) return false;
  return gates.unless === undefined || gates.unless === null || !ask(gates.unless, task, extra);
}

function ask<T extends Task, Extra extends readonly unknown[]>(gate: Gate<T, Extra>, task: T, extra: Extra): boolean {
  const answer: unknown = gate.call(task, task, ...extra);
  if (typeof answer === "object" && answer !== null && "then" in answer) {
    void Promise.resolve(answer).then(undefined, () => undefined); // its answer comes too late to be of use, also as a rejection
    throw new DefinitionError("A gate (if, unless) answered with a promise. Gates answer true or false at once; await beforehand.");
  }
  return Boolean(answer);
}
