import {
  configure,
  idempotentBy,
  literal,
  lockWith,
  MemoryStore,
  Task,
  use,
  type Awaitable,
  type SetOptions,
  type SetResult,
} from "taskwright";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { deferred } from "../support/builders.js";
import { settle } from "../support/manual-clock.js";
import { useStage } from "./stage.js";

const stage = useStage();

/** What a store of somebody's may do in place of an answer. */
type Trick = () => unknown;
const broken = new Error("broken");
const throws: Trick = () => {
  throw broken;
};

/** A store in this process, of whose calls some go wrong at once, without a promise. */
class Tricky extends MemoryStore {
  readonly tricks = new Map<string, Trick>();

  override set(key: string, value: string, options: SetOptions): Awaitable<SetResult> {
    const trick = this.tricks.get(options.nx === true ? "claim" : "complete");
    return trick === undefined ? super.set(key, value, options) : (trick() as SetResult); // nothing that may be answered
  }

  override delete(key: string, options: { readonly owner?: string } = {}): Awaitable<boolean> {
    const trick = this.tricks.get("delete");
    return trick === undefined ? super.delete(key, options) : (trick() as boolean); // likewise
  }
}

function world(tricks: Record<string, Trick>) {
  const store = new Tricky({ clock: stage.clock });
  for (const [operation, trick] of Object.entries(tricks)) store.tricks.set(operation, trick);
  configure((config) => {
    config.store = store;
  });
  let works = 0;
  class Charge extends Task.with({ name: "Charge" }) {
    async work(): Promise<object> {
      works += 1;
      return {};
    }
  }
  class Once extends Charge {}
  idempotentBy(literal("pay_1"), { ttl: 60, lease: 30 })(Once);
  class Alone extends Charge {}
  lockWith(literal("wallet"), { ttl: 30 })(Alone);
  return { store, Once, Alone, works: () => works };
}

const NONSENSE: readonly [what: string, trick: Trick][] = [
  ["throws", throws],
  ["answers undefined", () => undefined],
  ["answers null", () => null],
  ["refuses and shows undefined where a text was meant", () => ({ ok: false, held: { value: undefined, expiresInMs: 1_000 } })],
  ["promises undefined", () => Promise.resolve(undefined)],
];

describe("a store in this process that goes wrong at once", () => {
  test.each(NONSENSE)("%s at the claim: no work is done without one, and the error says so", async (_, trick) => {
    const { Once, works } = world({ claim: trick });
    const run = Once.execute();
    await stage.clock.advance(1_000);

    const result = await run;

    expect(result).toMatchObject({ status: "failed", metadata: { code: "store_unavailable" } });
    expect(works()).toBe(0);
  });

  test.each(NONSENSE)("%s at the completion: the success stands, and its key is held for the lease", async (_, trick) => {
    const { Once, store, works } = world({ complete: trick });
    const run = Once.execute();
    await stage.clock.advance(20_000);

    expect(await run).toMatchObject({ status: "success" });
    expect(works()).toBe(1);
    expect(await store.get("cmdx:idem:Once:pay_1")).toMatchObject({ value: "processing" });
    await stage.clock.advance(30_000);
    expect(await store.get("cmdx:idem:Once:pay_1")).toBeUndefined();
  });

  test.each(NONSENSE.slice(0, 3))("%s at the release of a lock: the success stands, and the lock's life ends", async (_, trick) => {
    const { Alone, store } = world({ delete: trick });
    const run = Alone.execute();
    await stage.clock.advance(1_000);

    expect(await run).toMatchObject({ status: "success" });
    await stage.clock.advance(30_000);
    expect(await store.get("cmdx:lock:Alone:wallet")).toBeUndefined();
  });

  test("and an answer that comes late and is none ends no process", async () => {
    const late = deferred<undefined>();
    const { Once } = world({ claim: () => late.promise });
    const run = Once.execute();
    await stage.clock.advance(60_000);
    expect(await run).toMatchObject({ status: "failed", metadata: { code: "store_unavailable" } });

    late.resolve(undefined);
    await settle(); // an unhandled rejection would fail the test run
  });
});

describe("what a person leaves behind", () => {
  test("frozen metadata takes no more notes, and decides nothing", async () => {
    class Freezes extends Task.with() {
      async work(): Promise<void> {
        this.metadata["mine"] = 1;
        Object.freeze(this.metadata);
        this.skip("enough", { code: "enough" });
      }
    }

    const result = await Freezes.execute();

    expect(result).toMatchObject({ status: "skipped", reason: "enough", metadata: { mine: 1 } });
  });

  test("a frozen context takes no more entries, and decides nothing", async () => {
    class Inner extends Task.with() {
      async work(): Promise<void> {}
    }
    class Outer extends Task.with({ name: "Outer" }) {
      async work(): Promise<object> {
        Object.freeze(this.context);
        return { inner: (await Inner.execute({}, { context: { late: true } })).status };
      }
    }

    expect(await Outer.execute()).toMatchObject({ status: "success", output: { inner: "success" } });
  });

  test("metadata of a class of their own becomes plain and frozen", async () => {
    class Notes {
      readonly code = "enough";
      counter = 0;
    }
    const notes = new Notes();
    class Skips extends Task.with() {
      async work(): Promise<void> {
        this.skip("enough", notes);
      }
    }

    const { metadata } = await Skips.execute();
    notes.counter = 1;

    expect(metadata).toStrictEqual({ code: "enough", counter: 0 });
    expect(Object.isFrozen(metadata)).toBe(true);
  });

  test("metadata that cannot be read is none that a middleware's outcome could break the result with", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    class Turned extends Task.with() {
      async work(): Promise<void> {}
    }
    use(() => ({ status: "skipped", metadata: proxy }))(Turned);

    const { status, metadata } = await Turned.execute();

    expect(status).toBe("skipped");
    expect(typeof metadata).toBe("object");
    expect(Object.getPrototypeOf(metadata)).toBe(Object.prototype);
  });

  // As a program without types gives it: null where there is nothing to say.
  const nothing = null as unknown as object;
  const ends: readonly [string, (task: Task) => unknown, string][] = [
    ["skip", (task) => task.skip("enough", nothing), "skipped"],
    ["fail", (task) => task.fail("no", nothing), "failed"],
    ["no reason either", (task) => task.fail(nothing as unknown as string, nothing), "failed"],
    ["a failure that nobody thought of", () => Promise.reject(nothing), "failed"],
  ];
  test.each(ends)("null for metadata is none: %s", async (_, end, status) => {
    class Ends extends Task.with() {
      async work(): Promise<void> {
        await end(this);
      }
    }

    expect(await Ends.execute()).toMatchObject({ status, metadata: {} });
  });

  test("null for metadata is none: a success, whose output is not lost by it, and what a middleware says", async () => {
    class Succeeds extends Task.with({ output: z.object({ receipt: z.string() }) }) {
      async work(): Promise<{ receipt: string }> {
        this.success({ receipt: "r-1" }, nothing);
      }
    }
    class Turned extends Task.with() {
      async work(): Promise<void> {}
    }
    use(() => ({ status: "skipped", metadata: nothing }))(Turned);

    expect(await Succeeds.execute()).toMatchObject({ status: "success", output: { receipt: "r-1" }, metadata: {} });
    expect(await Turned.execute()).toMatchObject({ status: "skipped", metadata: {} });
  });

  test("a thrown value that cannot be looked at ends an idempotent run like any other", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    class Throws extends Task.with({ name: "Throws" }) {
      async work(): Promise<void> {
        throw proxy;
      }
    }
    idempotentBy(literal("one"), { ttl: 60 })(Throws);

    expect(await Throws.execute()).toMatchObject({ status: "failed" });
    expect(await stage.memory.get("cmdx:idem:Throws:one")).toBeUndefined();
  });
});
