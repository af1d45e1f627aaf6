import { AsyncLocalStorage } from "node:async_hooks";
import type { AbortScope } from "../support/abort.js";
import { addEntries, frozenEntries } from "../support/freeze.js";
import { Arrival } from "./origin.js";
import type { Run } from "./run.js";

/** A bag of your own making, shared along a chain. Declare its entries by merging into this interface. */
export interface TaskContext {
  [key: string]: unknown;
}

/** What a root run and every run started inside it have in common. */
export class Chain {
  /** The id of its root run. */
  readonly id: string;
  /** What ties the chain to something outside. Set by the root run. */
  correlationId: string | undefined;
  #started: number;
  #context: TaskContext | undefined;

  /** @param started How many of its runs were started elsewhere, before it crossed a queue. */
  constructor(id: string, started: number = 0) {
    this.id = id;
    this.#started = started;
  }

  /** The place of the run that starts now. */
  nextIndex(): number {
    return this.#started++;
  }

  /** Made when somebody first asks for it. Without a prototype: a key from outside finds nothing that nobody put there. */
  get context(): TaskContext {
    return (this.#context ??= Object.create(null) as TaskContext); // what create gives is typed as any
  }

  addContext(entries: object): void {
    addEntries(this.context, entries);
  }

  /** The bag as it is now. */
  contextCopy(): Readonly<Record<string, unknown>> {
    return this.#context === undefined ? EMPTY : frozenEntries(this.#context);
  }
}

const EMPTY: Readonly<Record<string, unknown>> = Object.freeze({});

/**
 * Where code runs: in a run, or in a part of one that is called off apart from it. Work that goes on after its attempt has timed out
 * stays in the place of that attempt, whatever its run does meanwhile.
 */
export class Place {
  readonly run: Run;
  readonly scope: AbortScope;

  constructor(run: Run, scope: AbortScope) {
    this.run = run;
    this.scope = scope;
  }
}

/** What code runs in: a run or a part of one, or the job that the next run is an attempt of, when a worker is about to start it. */
export type Surroundings = Run | Place | Arrival | undefined;

const storage = new AsyncLocalStorage<Surroundings>();

export function currentSurroundings(): Surroundings {
  return storage.getStore();
}

export function runIn(around: Surroundings): Run | undefined {
  if (around instanceof Place) return around.run;
  return around instanceof Arrival ? undefined : around;
}

/** The run inside which this code runs, also behind awaits and in parallel branches. */
export function currentRun(): Run | undefined {
  return runIn(storage.getStore());
}

/** The part of a run inside which this code runs, where it is one that is called off by itself. */
export function currentPlace(): Place | undefined {
  const around = storage.getStore();
  return around instanceof Place ? around : undefined;
}

/** Runs the body in a part of the run: its signal and the runs started in it go by that scope. */
export function insidePlace<T>(run: Run, scope: AbortScope, body: () => T): T {
  return storage.run(new Place(run, scope), body);
}

/** Runs the body so that a run started in it is an attempt of the job. */
export function arriving<T>(arrival: Arrival, body: () => T): T {
  return storage.run(arrival, body);
}

/** Runs the body so that every run started in it becomes a child of this one. */
export function insideRun<T>(run: Run, body: (run: Run) => T): T {
  return storage.run(run, body, run);
}

/** Runs the body as if no run were around it. */
export function outsideRuns<T>(body: () => T): T {
  return storage.run(undefined, body);
}
