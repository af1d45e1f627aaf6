import { setTimeout as delay } from "node:timers/promises";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chainTree, configure, onSuccess, resetConfiguration, retryOn, Task, use, type ChainNode, type Result } from "taskwright";
import { deferred, ofName, PausePoint, recordEvents } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";

/** All results, in the order in which the runs ended. */
let results: Result[] = [];

beforeEach(() => {
  results = [];
  configure((config) => {
    config.telemetry.subscribe("task_executed", ({ payload }) => results.push(payload.result));
  });
});
afterEach(() => {
  resetConfiguration();
});

/** A task of this name that runs the others inside itself. */
function named(name: string, work: () => unknown = () => undefined) {
  return class extends Task.with({ name }) {
    work(): unknown {
      return work();
    }
  };
}

const byName = (name: string): Result => {
  const found = results.find(({ task }) => task === name);
  if (found === undefined) throw new Error(`no run of ${name}`);
  return found;
};
/** `top(a(c) b)` */
const drawn = (nodes: readonly ChainNode[]): string =>
  nodes.map(({ result, children }) => result.task + (children.length === 0 ? "" : `(${drawn(children)})`)).join(" ");

describe("nested runs", () => {
  test("share the chain and know their parent, their depth and their place by order of starting", async () => {
    const leaf = named("leaf");
    const mid = named("mid", async () => {
      await leaf.execute();
    });
    await named("top", async () => {
      await mid.execute();
      await leaf.execute();
    }).execute();

    const [leaf1, midResult, leaf2, top] = results;
    expect(results.map(({ task, index, depth }) => [task, index, depth])).toEqual([
      ["leaf", 2, 2],
      ["mid", 1, 1],
      ["leaf", 3, 1],
      ["top", 0, 0],
    ]);
    expect(new Set(results.map(({ chainId }) => chainId)).size).toBe(1);
    expect(leaf1?.parentId).toBe(midResult?.runId);
    expect(midResult?.parentId).toBe(top?.runId);
    expect(leaf2?.parentId).toBe(top?.runId);
    expect(top?.parentId).toBeUndefined();
  });

  test("in parallel branches keep their own parents", async () => {
    const leaf = (name: string) => named(name, () => settle());
    const branch = (name: string) =>
      named(name, async () => {
        await settle();
        await leaf(`${name}1`).execute();
        await leaf(`${name}2`).execute();
      });

    await named("top", () => Promise.all([branch("a").execute(), branch("b").execute(), branch("c").execute()])).execute();

    expect(drawn(chainTree(results))).toBe("top(a(a1 a2) b(b1 b2) c(c1 c2))");
    expect(results.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("started in callbacks, middlewares, retries, rollback and listeners belong to the run around them", async () => {
    const child = (name: string) => named(name);
    class Top extends Task.with({ name: "top" }) {
      async work(): Promise<void> {
        await child(`work${this.attempt}`).execute();
        throw new Error("declined");
      }
      override async rollback(): Promise<void> {
        await child("rollback").execute();
      }
    }
    retryOn(Error, { limit: 1, delay: 0 })(Top);
    use(async (_task: Task, next) => {
      await child("before").execute();
      await next();
      await child("after").execute();
    })(Top);
    class Fine extends Task.with({ name: "fine" }) {
      work(): void {}
      @onSuccess() async celebrate(): Promise<void> {
        await child("callback").execute();
      }
    }

    await Top.execute();
    await Fine.execute();

    expect(drawn(chainTree(results.filter(({ chainId }) => chainId === byName("top").chainId)))).toBe(
      "top(before work1 work2 rollback after)",
    );
    expect(drawn(chainTree(results.filter(({ chainId }) => chainId === byName("fine").chainId)))).toBe("fine(callback)");
  });

  test("keep their chain behind timers, queued microtasks and thenables", async () => {
    await named("top", async () => {
      await delay(1);
      await new Promise<void>((resolve) => {
        queueMicrotask(() => {
          void named("micro")
            .execute()
            .then(() => resolve());
        });
      });
      await named("late").execute();
    }).execute();

    expect(drawn(chainTree(results))).toBe("top(micro late)");
  });

  test("that nobody waits for still belong to the chain when the run around them is over", async () => {
    const pause = new PausePoint();
    const over = deferred();
    const late = named("late");
    const detached = named("detached", async () => {
      await pause.pass();
      await late.execute();
      over.resolve();
    });

    await named("top", () => {
      void detached.execute();
    }).execute();
    pause.resume();
    await over.promise;
    await settle();

    expect(results.map(({ task, status, index, depth }) => [task, status, index, depth])).toEqual([
      ["top", "success", 0, 0],
      ["late", "success", 2, 2],
      ["detached", "success", 1, 1],
    ]);
    expect(drawn(chainTree(results))).toBe("top(detached(late))");
  });

  test("are chains of their own when they are started side by side outside of any run", async () => {
    const [a, b] = await Promise.all([named("a").execute(), named("b").execute()]);

    expect(a.chainId).not.toBe(b.chainId);
    expect([a.index, b.index]).toEqual([0, 0]);
    expect([a.parentId, b.parentId]).toEqual([undefined, undefined]);
  });

  test("have ids of their own that sort by time of making", async () => {
    for (let i = 0; i < 20; i += 1) await named(`run${i}`).execute();

    expect(new Set(results.map(({ runId }) => runId)).size).toBe(20);
    for (const { runId, chainId } of results) {
      expect(runId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(chainId).toBe(runId); // a chain is named after its root
    }
  });

  test("of one task inside itself", async () => {
    class Countdown extends Task.with() {
      async work(): Promise<number> {
        const left = ((this.context["left"] as number | undefined) ?? 50) - 1;
        this.context["left"] = left;
        if (left > 0) await Countdown.executeBang();
        return left;
      }
    }

    const result = await Countdown.execute();

    expect(result.status).toBe("success");
    expect(Math.max(...results.map(({ depth }) => depth))).toBe(49);
  });
});

describe("chainTree", () => {
  test("builds the same tree from results in any order", async () => {
    const leaf = named("leaf");
    await named("top", async () => {
      await named("a", () => leaf.execute()).execute();
      await named("b", () => Promise.all([leaf.execute(), leaf.execute()])).execute();
    }).execute();

    fc.assert(
      fc.property(fc.shuffledSubarray(results, { minLength: results.length }), (shuffled) => {
        expect(drawn(chainTree(shuffled))).toBe("top(a(leaf) b(leaf leaf))");
      }),
    );
  });

  test("takes a run whose parent is missing as a root, and nothing at all as no tree", async () => {
    await named("top", () => named("mid", () => named("leaf").execute()).execute()).execute();

    expect(drawn(chainTree(results.filter(({ task }) => task !== "mid")))).toBe("top leaf");
    expect(chainTree([])).toEqual([]);
  });

  test("takes any iterable", async () => {
    await named("top").execute();

    expect(drawn(chainTree(new Set(results)))).toBe("top");
  });
});

describe("the correlation id", () => {
  test("is asked for once by each root, and shared along the chain and by the events", async () => {
    let asked = 0;
    configure((config) => {
      config.correlationId = () => `request-${(asked += 1)}`;
    });
    const events = recordEvents("task_started");

    await named("top", () => named("leaf").execute()).execute();
    await named("other").execute();

    expect(results.map(({ task, correlationId }) => [task, correlationId])).toEqual([
      ["leaf", "request-1"],
      ["top", "request-1"],
      ["other", "request-2"],
    ]);
    expect(events.map(({ correlationId }) => correlationId)).toEqual(["request-1", "request-1", "request-2"]);
    expect(asked).toBe(2);
  });

  test("that throws is reported, and the run goes on without it", async () => {
    configure((config) => {
      config.correlationId = () => {
        throw new Error("no request here");
      };
    });
    const events = recordEvents("observer_error");

    await named("top", () => named("leaf").execute()).execute();

    expect(results.map(({ status, correlationId }) => [status, correlationId])).toEqual([
      ["success", undefined],
      ["success", undefined],
    ]);
    expect(ofName(events, "observer_error").map(({ payload }) => [payload.observer, payload.error.message])).toEqual([
      ["config.correlationId", "no request here"],
    ]);
  });

  test.each<[string, () => unknown]>([
    ["a number", () => 5],
    ["a promise", () => Promise.resolve("late")],
    ["a promise that rejects", () => Promise.reject(new Error("late"))],
  ])("that is %s is reported, and not taken", async (_, correlationId) => {
    configure((config) => {
      config.correlationId = correlationId as () => string;
    });
    const events = recordEvents("observer_error");

    const result = await named("top").execute();
    await settle();

    expect(result).toMatchObject({ status: "success", correlationId: undefined });
    expect(events).toHaveLength(1);
  });
});
