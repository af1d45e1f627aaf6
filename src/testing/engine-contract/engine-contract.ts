import type { Engine, EngineSource } from "../../queue/port.js";
import { equalByAssert } from "../contract/contract-case.js";
import type { ManualClock } from "../manual-clock.js";
import { attemptCases } from "./attempt-cases.js";
import { batchCases } from "./batch-cases.js";
import { cancelCases } from "./cancel-cases.js";
import { deadCases } from "./dead-cases.js";
import { EngineBench, type EngineCase } from "./engine-bench.js";
import { holdCases } from "./hold-cases.js";
import { keyCases } from "./key-cases.js";
import { raceCases } from "./race-cases.js";
import { recordCases } from "./record-cases.js";
import { scheduleCases } from "./schedule-cases.js";
import { workerCases } from "./worker-cases.js";

const cases: readonly EngineCase[] = [
  ...keyCases,
  ...holdCases,
  ...batchCases,
  ...raceCases,
  ...recordCases,
  ...attemptCases,
  ...cancelCases,
  ...workerCases,
  ...deadCases,
  ...scheduleCases,
];

/** An engine under test. It must hold keys. */
export interface EngineUnderTest {
  /** Opens the engine. Engines on one server may share it: every case has namespaces of its own. */
  readonly source: EngineSource;
  /** Opens another engine on the same storage, over connections of its own. Leave it out for engines that share nothing. */
  readonly peer?: EngineSource;
  /** The clock that the engine reads, to be moved by hand; else cases wait in earnest, for as short as they can. */
  readonly clock?: ManualClock;
  /**
   * How long a case waits for what must come, in milliseconds. The end of a worker that does not answer, and the mark of a cancellation,
   * must be noticed within it.
   *
   * @default 15_000
   */
  readonly patienceMs?: number;
}

export interface EngineContractOptions extends EngineUnderTest {
  /** @default "keeps the contract of an engine" */
  readonly name?: string;
  /** The runner's own; as globals they need not be given. */
  readonly describe?: (name: string, body: () => void) => unknown;
  readonly it?: (name: string, body: () => Promise<void>) => unknown;
  /** Compares through the runner, for its messages. @default node:assert */
  readonly expect?: (actual: unknown) => { toStrictEqual(expected: unknown): unknown };
}

/** A promise that an engine broke. */
export interface EngineFailure {
  /** The promise, in the words of the test. */
  readonly name: string;
  readonly error: unknown;
}

/**
 * Registers the tests that every engine must pass, with any runner that has `describe` and `it`.
 *
 * ```ts
 * engineContract({ describe, it, source: myEngine({ url }), peer: myEngine({ url }) });
 * ```
 */
export function engineContract(options: EngineContractOptions): void {
  const { name = "keeps the contract of an engine", describe = fromRunner("describe"), it = fromRunner("it"), expect } = options;
  const equal: typeof equalByAssert = expect === undefined ? equalByAssert : (actual, expected) => expect(actual).toStrictEqual(expected);
  describe(name, () => {
    for (const engineCase of casesFor(options)) it(engineCase.name, () => runCase(engineCase, options, equal));
  });
}

/** Puts an engine to the same tests without a runner, and tells which it failed. */
export async function checkEngine(engine: EngineUnderTest): Promise<readonly EngineFailure[]> {
  const failures: EngineFailure[] = [];
  for (const engineCase of casesFor(engine)) {
    try {
      await runCase(engineCase, engine, equalByAssert);
    } catch (error) {
      failures.push({ name: engineCase.name, error });
    }
  }
  return failures;
}

function casesFor({ peer }: EngineUnderTest): readonly EngineCase[] {
  return cases.filter(({ needs }) => needs === undefined || peer !== undefined);
}

async function runCase(engineCase: EngineCase, under: EngineUnderTest, equal: typeof equalByAssert): Promise<void> {
  const { source, peer = source, clock, patienceMs = 15_000 } = under;
  const opened: Engine[] = [];
  const open = (from: EngineSource, namespace: string): Engine => {
    const engine = from(namespace);
    opened.push(engine);
    return engine;
  };
  const bench = new EngineBench({
    open: (namespace) => open(source, namespace),
    openPeer: (namespace) => open(peer, namespace),
    clock,
    patienceMs,
    equal,
  });
  try {
    await engineCase.run(bench);
  } finally {
    await bench.end();
    for (const engine of opened) await bench.passingTime(engine.close());
  }
}

function fromRunner<Name extends "describe" | "it">(name: Name): NonNullable<EngineContractOptions[Name]> {
  const found: unknown = Reflect.get(globalThis, name);
  if (typeof found === "function") return found as NonNullable<EngineContractOptions[Name]>; // the runner's global, by its usual shape
  throw new Error(`engineContract() found no global ${name}. Pass it in: engineContract({ describe, it, … }).`);
}
