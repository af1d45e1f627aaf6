import { inspect, isDeepStrictEqual } from "node:util";
import type { Result } from "../index.js";

/** What a run that was turned away or failed must show. What is left out is not looked at. */
export interface ExpectedReason {
  /** `result.metadata.code`. */
  readonly code?: string;
  /** `result.reason`: a text that it contains, or a pattern that it matches. */
  readonly reason?: string | RegExp;
}

/** The matchers' types, for the runner's own. `T` is what a matcher returns. */
export interface TaskMatchers<T = unknown> {
  /** The run succeeded; with an argument, with this output. */
  toBeSuccess(output?: unknown): T;
  /** The run was skipped, for this reason. */
  toBeSkipped(expected?: ExpectedReason): T;
  /** The run failed, for this reason. */
  toHaveFailed(expected?: ExpectedReason): T;
  /** The run answered with the output of an earlier one; with an argument, with this output. */
  toHaveReplayed(output?: unknown): T;
}

interface Verdict {
  readonly pass: boolean;
  message(): string;
}

/** What Vitest and Jest call a matcher with. */
interface MatcherState {
  equals?(this: void, a: unknown, b: unknown, customTesters?: readonly unknown[]): boolean;
  readonly customTesters?: readonly unknown[];
  readonly utils?: { readonly iterableEquality?: unknown };
}

/**
 * Matchers for results, for Vitest and Jest: `expect.extend(taskMatchers)`, then `expect(result).toBeSkipped({ code: "duplicate" })`.
 * For their types in Vitest, once in a project:
 *
 * ```ts
 * import type { TaskMatchers } from "taskwright/testing";
 * declare module "vitest" {
 *   interface Matchers<T> extends TaskMatchers<T> {}
 * }
 * ```
 */
export const taskMatchers = {
  toBeSuccess(this: MatcherState, received: unknown, ...output: [output?: unknown]): Verdict {
    return verdict(received, "to be a success", (result) => wrongSuccess(this, result, output));
  },
  toBeSkipped(this: MatcherState, received: unknown, expected: ExpectedReason = {}): Verdict {
    return verdict(
      received,
      `to be skipped${shown(expected)}`,
      (result) => wrongStatus(result, "skipped") ?? wrongReason(result, expected),
    );
  },
  toHaveFailed(this: MatcherState, received: unknown, expected: ExpectedReason = {}): Verdict {
    return verdict(
      received,
      `to have failed${shown(expected)}`,
      (result) => wrongStatus(result, "failed") ?? wrongReason(result, expected),
    );
  },
  toHaveReplayed(this: MatcherState, received: unknown, ...output: [output?: unknown]): Verdict {
    return verdict(received, "to have replayed", (result) => {
      const fresh = result.status === "success" && !result.replayed ? "its work ran" : undefined;
      return fresh ?? wrongSuccess(this, result, output);
    });
  },
};

/** @param wrong What of the result is not as expected, in words; undefined when all is. */
function verdict(received: unknown, expectation: string, wrong: (result: Result) => string | undefined): Verdict {
  if (!isResult(received))
    return { pass: false, message: () => `expected a task's result ${expectation}, got ${inspect(received, { depth: 0 })}` };
  const found = wrong(received);
  return {
    pass: found === undefined,
    message: () =>
      `expected the result of ${received.task} ${found === undefined ? `not ${expectation}, but it is so` : `${expectation}, but ${found}`}`,
  };
}

function wrongStatus(result: Result, status: Result["status"]): string | undefined {
  return result.status === status ? undefined : `it ${told(result)}`;
}

/** Equal as the runner's `toEqual` has it, which looks into maps and sets by a tester of its own. */
function isEqual({ equals, customTesters = [], utils }: MatcherState, a: unknown, b: unknown): boolean {
  if (equals === undefined) return isDeepStrictEqual(a, b);
  return equals(a, b, utils?.iterableEquality === undefined ? customTesters : [...customTesters, utils.iterableEquality]);
}

function wrongSuccess(state: MatcherState, result: Result, expected: [output?: unknown]): string | undefined {
  if (result.status !== "success") return `it ${told(result)}`;
  if (expected.length === 0 || isEqual(state, result.output, expected[0])) return undefined;
  return `its output is ${inspect(result.output)} and not ${inspect(expected[0])}`;
}

function wrongReason({ metadata, reason }: Result, expected: ExpectedReason): string | undefined {
  if (expected.code !== undefined && metadata.code !== expected.code) return `its code is ${inspect(metadata.code)}`;
  if (expected.reason === undefined) return undefined;
  const fits = typeof expected.reason === "string" ? reason?.includes(expected.reason) : (reason ?? "").search(expected.reason) !== -1;
  return fits === true ? undefined : `its reason is ${inspect(reason)}`;
}

/** How a run ended, as the end of a sentence. */
function told(result: Result): string {
  const code = result.metadata.code === undefined ? "" : ` (${result.metadata.code})`;
  switch (result.status) {
    case "success":
      return `succeeded with ${inspect(result.output)}`;
    case "skipped":
      return `was skipped${code}: ${result.reason ?? "no reason given"}`;
    case "failed":
      return `failed${code}: ${result.reason}`;
  }
}

function shown({ code, reason }: ExpectedReason): string {
  const parts = [code === undefined ? "" : `code ${inspect(code)}`, reason === undefined ? "" : `reason ${inspect(reason)}`];
  const words = parts.filter((part) => part !== "").join(" and ");
  return words === "" ? "" : ` with ${words}`;
}

function isResult(value: unknown): value is Result {
  return typeof value === "object" && value !== null && "status" in value && "metadata" in value && "task" in value;
}
