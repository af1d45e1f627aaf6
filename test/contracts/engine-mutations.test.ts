import { configure, resetConfiguration } from "taskwright";
import {
  memoryEngine,
  type Engine,
  type EngineJob,
  type EngineSchedule,
  type EngineSource,
  type EngineWorker,
  type Handler,
  type JobRecord,
  type Receipt,
} from "taskwright/queue";
import { checkEngine, ManualClock } from "taskwright/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

/** Passes everything on. Each breakage below changes one thing. */
class Passing implements Engine {
  readonly name = "passing";
  readonly inner: Engine;

  constructor(inner: Engine) {
    this.inner = inner;
  }
  get capabilities(): Engine["capabilities"] {
    return this.inner.capabilities;
  }
  enqueue(jobs: readonly EngineJob[]): Promise<readonly Receipt[]> {
    return this.inner.enqueue(jobs);
  }
  get(id: string): Promise<JobRecord | undefined> {
    return this.inner.get(id);
  }
  holder(key: string): Promise<string | undefined> {
    return this.inner.holder(key);
  }
  settled(id: string, options: { readonly timeoutMs: number }): Promise<JobRecord | undefined> {
    return this.inner.settled(id, options);
  }
  cancel(id: string): ReturnType<Engine["cancel"]> {
    return this.inner.cancel(id);
  }
  dead(options: { readonly limit: number; readonly offset: number }): Promise<readonly JobRecord[]> {
    return this.inner.dead(options);
  }
  forget(id: string): Promise<boolean> {
    return this.inner.forget(id);
  }
  schedule(schedule: EngineSchedule): Promise<void> {
    return this.inner.schedule(schedule);
  }
  unschedule(name: string): Promise<boolean> {
    return this.inner.unschedule(name);
  }
  schedules(): Promise<readonly EngineSchedule[]> {
    return this.inner.schedules();
  }
  work(handler: Handler, options: { readonly concurrency: number }): Promise<EngineWorker> {
    return this.inner.work(handler, options);
  }
  close(): Promise<void> {
    return this.inner.close();
  }
}

const withoutKey = (job: EngineJob): EngineJob => ({ ...job, key: undefined });

/** Changes the jobs on their way in. */
const changing = (change: (job: EngineJob) => EngineJob): typeof Passing =>
  class extends Passing {
    override enqueue(jobs: readonly EngineJob[]): Promise<readonly Receipt[]> {
      return super.enqueue(jobs.map(change));
    }
  };

/** Changes what becomes of a worker's attempts. */
const handling = (change: (handler: Handler) => Handler): typeof Passing =>
  class extends Passing {
    override work(handler: Handler, options: { readonly concurrency: number }): Promise<EngineWorker> {
      return super.work(change(handler), options);
    }
  };

/** A breakage, and a promise of the contract whose test must notice it. */
const breakages: readonly { readonly fault: string; readonly noticed: RegExp; readonly broken: typeof Passing }[] = [
  {
    fault: "knows no keys",
    noticed: /a job whose key is held resolves to the holder/,
    broken: changing(withoutKey),
  },
  {
    fault: "holds a key for each task",
    noticed: /jobs of different tasks share a key/,
    broken: changing((job) => ({ ...job, ...(job.key !== undefined && { key: `${job.task}:${job.key}` }) })),
  },
  {
    fault: "tidies keys",
    noticed: /odd keys are held, and each is told from the others/,
    broken: changing((job) => ({ ...job, ...(job.key !== undefined && { key: job.key.trim() }) })),
  },
  {
    fault: "forgets the keys of a batch",
    noticed: /a batch of ten with one key is one job and ten receipts/,
    broken: class extends Passing {
      override enqueue(jobs: readonly EngineJob[]): Promise<readonly Receipt[]> {
        return super.enqueue(jobs.length === 1 ? jobs : jobs.map(withoutKey));
      }
    },
  },
  {
    fault: "answers for every job under its own id",
    noticed: /a job whose key is held resolves to the holder, and says so/,
    broken: class extends Passing {
      override async enqueue(jobs: readonly EngineJob[]): Promise<readonly Receipt[]> {
        const receipts = await super.enqueue(jobs);
        return receipts.map(({ coalesced }, at) => ({ id: jobs[at]?.id ?? "", coalesced }));
      }
    },
  },
  {
    fault: "looks for the holder first and enqueues afterwards",
    noticed: /of 500 enqueues at once on one key exactly one is kept/,
    broken: class extends Passing {
      override async enqueue(jobs: readonly EngineJob[]): Promise<readonly Receipt[]> {
        const holders = await Promise.all(jobs.map(async ({ key }) => (key === undefined ? undefined : this.holder(key))));
        const free = jobs.filter((_, at) => holders[at] === undefined).map(withoutKey);
        await super.enqueue(free);
        return jobs.map(({ id }, at) => ({ id: holders[at] ?? id, coalesced: holders[at] !== undefined }));
      }
    },
  },
  {
    fault: "reads payloads as JSON",
    noticed: /payloads come back as they were given/,
    broken: changing((job) => {
      try {
        return { ...job, payload: JSON.stringify(JSON.parse(job.payload)) };
      } catch {
        return job; // not JSON, so there is nothing to tidy
      }
    }),
  },
  {
    fault: "knows no priorities",
    noticed: /those of a higher priority first/,
    broken: changing((job) => ({ ...job, options: { ...job.options, priority: 0 } })),
  },
  {
    fault: "waits equally long between all attempts",
    noticed: /twice as long each time/,
    broken: changing((job) => ({ ...job, options: { ...job.options, backoff: { ...job.options.backoff, type: "fixed" } } })),
  },
  {
    fault: "tries a job again that has failed for good",
    noticed: /a job that fails for good is dead at once/,
    broken: handling((handler) => ({
      run: async (attempt) => {
        const verdict = await handler.run(attempt);
        return verdict.kind === "failed" ? { ...verdict, retry: true } : verdict;
      },
      became: (job, ending) => handler.became(job, ending),
      trouble: (error) => handler.trouble(error),
    })),
  },
  {
    fault: "counts what was handed back as a failed attempt",
    noticed: /has used no attempt/,
    broken: handling((handler) => ({
      run: async (attempt) => {
        const verdict = await handler.run(attempt);
        return verdict.kind === "handed_back" ? { kind: "failed", answer: "", reason: "handed back", retry: true } : verdict;
      },
      became: (job, ending) => handler.became(job, ending),
      trouble: (error) => handler.trouble(error),
    })),
  },
  {
    fault: "does not tell running jobs that they are cancelled",
    noticed: /a running job is told that it is cancelled/,
    broken: handling((handler) => ({
      run: (attempt) => handler.run({ ...attempt, signal: new AbortController().signal }),
      became: (job, ending) => handler.became(job, ending),
      trouble: (error) => handler.trouble(error),
    })),
  },
  {
    fault: "forgets what was cancelled",
    noticed: /is remembered as cancelled/,
    broken: class extends Passing {
      override async cancel(id: string): ReturnType<Engine["cancel"]> {
        const answer = await super.cancel(id);
        if (answer === "cancelled") await super.forget(id);
        return answer;
      }
    },
  },
  {
    fault: "lists dead jobs the oldest first",
    noticed: /dead jobs are listed, the latest first/,
    broken: class extends Passing {
      override async dead({ limit, offset }: { readonly limit: number; readonly offset: number }): Promise<readonly JobRecord[]> {
        return (await super.dead({ limit: 1_000, offset: 0 })).toReversed().slice(offset, offset + limit);
      }
    },
  },
  {
    fault: "leaves the key out of schedules",
    noticed: /a tick whose key is held coalesces/,
    broken: class extends Passing {
      override schedule(schedule: EngineSchedule): Promise<void> {
        return super.schedule({ ...schedule, key: undefined });
      }
    },
  },
  {
    fault: "shares its jobs with other namespaces",
    noticed: /namespaces share neither keys nor jobs/,
    broken: Passing,
  },
];

describe("the contract of engines", () => {
  let clock: ManualClock;
  beforeEach(() => {
    clock = new ManualClock();
    configure((config) => {
      config.clock = clock;
    });
  });
  afterEach(resetConfiguration);

  const wrapped = (broken: typeof Passing, namespaceOf = (namespace: string): string => namespace): EngineSource => {
    const inner = memoryEngine();
    return (namespace) => new broken(inner(namespaceOf(namespace)));
  };

  test("is kept by an engine that passes everything on", async () => {
    const source = wrapped(Passing);
    expect(await checkEngine({ source, peer: source, clock, patienceMs: 5_000 })).toEqual([]);
  });

  for (const { fault, noticed, broken } of breakages) {
    test(`notices an engine that ${fault}`, async () => {
      const source = wrapped(broken, broken === Passing ? () => "the same" : undefined);
      const failures = await checkEngine({ source, peer: source, clock, patienceMs: 2_000 });
      expect(failures.map(({ name }) => name)).toContainEqual(expect.stringMatching(noticed));
    });
  }
});
