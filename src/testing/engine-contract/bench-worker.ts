import type { Attempt, Ending, Engine, EngineWorker, Handler, Verdict } from "../../queue/port.js";

/** A worker that notes all that happens to it. */
export class BenchWorker implements Handler {
  /** Attempts that were handed over, and when. */
  readonly started: { readonly attempt: Attempt; readonly at: number }[] = [];
  /** What became of them. */
  readonly told: { readonly id: string; readonly task: string; readonly attempt: number; readonly ending: Ending }[] = [];
  readonly troubles: Error[] = [];
  readonly #answer: (attempt: Attempt) => Verdict | Promise<Verdict>;
  readonly #now: () => number;
  #worker: EngineWorker | undefined;

  constructor(answer: (attempt: Attempt) => Verdict | Promise<Verdict>, now: () => number) {
    this.#answer = answer;
    this.#now = now;
  }

  async open(engine: Engine, concurrency: number): Promise<void> {
    this.#worker = await engine.work(this, { concurrency });
  }

  async run(attempt: Attempt): Promise<Verdict> {
    this.started.push({ attempt, at: this.#now() });
    return this.#answer(attempt);
  }

  became({ id, task, attempt }: { readonly id: string; readonly task: string; readonly attempt: number }, ending: Ending): void {
    this.told.push({ id, task, attempt, ending });
  }

  trouble(error: Error): void {
    this.troubles.push(error);
  }

  async stop(graceMs = 0): Promise<void> {
    await this.#worker?.stop({ graceMs });
  }

  /** The attempts of one job. */
  attemptsOf(id: string): readonly Attempt[] {
    return this.started.flatMap(({ attempt }) => (attempt.id === id ? [attempt] : []));
  }

  /** When they began. */
  timesOf(id: string): readonly number[] {
    return this.started.flatMap(({ attempt, at }) => (attempt.id === id ? [at] : []));
  }

  /** What became of one job, in order. */
  endingsOf(id: string): readonly Ending[] {
    return this.told.flatMap((told) => (told.id === id ? [told.ending] : []));
  }
}
