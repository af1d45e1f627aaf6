import { rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "vite";
import { afterEach, describe, expect, test } from "vitest";
import { DefinitionError, idempotentBy, literal, resetConfiguration, StoreKey, Task, use, type Segment, type Store } from "taskwright";
import { z } from "zod";
import { chargeTask } from "./fixtures/charge.js";
import { builtPackage, Program } from "./fixtures/package.js";
import { onEachStore } from "./fixtures/stores.js";
import { expectNothingUnhandled, keepIn } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

/** A task whose key is what the function gives, at each run. */
function keyedBy(segment: (task: Task) => Segment, { name = "Report", namespace = "cmdx:idem" } = {}) {
  class Report extends Task.with({ name, input: z.object({ id: z.string().default("") }) }) {
    static runs = 0;
    work(): void {
      Report.runs += 1;
    }
  }
  idempotentBy((task: Task) => segment(task), { namespace })(Report);
  return Report;
}

async function keysIn(store: Store, prefix = ""): Promise<string[]> {
  const { entries } = await store.entries({ prefix, limit: 1_000 });
  return entries.map(({ key }) => key).toSorted();
}

describe("two copies of the package in one process", () => {
  interface Told {
    copies: boolean;
    required: boolean;
    results: unknown;
    runs: number[];
    recognised: boolean[];
    mixed: unknown;
    mixedRuns: number;
    named: string | undefined;
  }
  async function told(): Promise<Told> {
    const program = new Program("two-copies.mjs");
    const answer = await program.next<Told>("told");
    expect(await program.end(10_000)).toBe(0);
    return answer;
  }

  test("take each other's runs for duplicates, know each other's errors, and mix", async () => {
    const { copies, required, results, runs, recognised, mixed, mixedRuns, named } = await told();

    expect(copies).toBe(true);
    expect(required).toBe(true);
    const key = "cmdx:idem:ChargeCustomer:pay_1";
    expect(results).toEqual([{ status: "success" }, { status: "failed", code: "duplicate", key }]);
    expect(runs).toEqual([1, 0]);
    expect(recognised).toEqual([true, true, true, true, false]);
    expect(mixed).toMatchObject([{ code: "duplicate", key }, { status: "success" }, { code: "duplicate" }]);
    expect(mixedRuns).toBe(1);
    expect(named).toBe("completed");
  });
});

describe("keys of several parts", () => {
  onEachStore((open) => {
    test("never meet, wherever their separators stand", async () => {
      const store = keepIn(open());
      const tuples = [
        ["user:123", "456"],
        ["user", "123:456"],
        ["user", "123", "456"],
        ["user%3A123", "456"],
        ["user%", "3A123:456"],
      ];
      let at = 0;
      const Report = keyedBy(() => tuples[at]);

      for (at = 0; at < tuples.length; at += 1) expect((await Report.execute({})).status).toBe("success");

      expect(new Set(await keysIn(store)).size).toBe(tuples.length);
      expect(Report.runs).toBe(tuples.length);
    });

    test("of one plain part stay as they are", async () => {
      const store = keepIn(open());

      await keyedBy(() => "a:b%c").execute({});

      expect(await keysIn(store)).toEqual(["cmdx:idem:Report:a:b%c"]);
    });
  });

  test("do not meet over the border of the namespace, since the task's name lies between", () => {
    const [wide, narrow] = [StoreKey.compose("a:b", "Report", "c"), StoreKey.compose("a", "Report", "b:c")];

    expect([wide, narrow]).toEqual(["a:b:Report:c", "a:Report:b:c"]);
  });
});

// The task's name is in every key, so tasks that share a namespace, on purpose or not, do not meet: there is no foreign result to
// replay, and no conflict to tell of.
describe("one key for two tasks", () => {
  onEachStore((open) => {
    test("lets both run, each once, also in one namespace", async () => {
      keepIn(open());
      const Charge = keyedBy(() => "abc", { name: "Charge", namespace: "billing" });
      const Refund = keyedBy(() => "abc", { name: "Refund", namespace: "billing" });

      const statuses: string[] = [];
      for (const Action of [Charge, Refund, Charge, Refund]) statuses.push((await Action.execute({})).status);

      expect(statuses).toEqual(["success", "success", "skipped", "skipped"]);
      expect([Charge.runs, Refund.runs]).toEqual([1, 1]);
    });

    test("lets both run when the caller brings it", async () => {
      keepIn(open());
      const [Charge, Refund] = [keyedBy(() => "own", { name: "Charge" }), keyedBy(() => "own", { name: "Refund" })];

      const both = [await Charge.execute({}, { idempotencyKey: "abc" }), await Refund.execute({}, { idempotencyKey: "abc" })];

      expect(both.map(({ status }) => status)).toEqual(["success", "success"]);
    });
  });
});

describe("two tasks with one name", () => {
  test("are refused, whichever runs first, with the cure", async () => {
    const [One, Other] = [keyedBy(() => "1", { name: "Charge" }), keyedBy(() => "1", { name: "Charge" })];
    await One.execute({});

    await expect(Other.execute({})).rejects.toThrow(DefinitionError);
    await expect(Other.execute({})).rejects.toThrow(/called "Charge".*another name/);
    expect([One.runs, Other.runs]).toEqual([1, 0]);
  });

  test("are refused also when only their namespaces make their keys meet", async () => {
    const Wide = keyedBy(() => "Charge:1", { name: "idem", namespace: "cmdx" });
    const Narrow = keyedBy(() => "1", { name: "Charge", namespace: "cmdx:idem" });
    await Wide.execute({});

    await expect(Narrow.execute({})).rejects.toThrow(/"?cmdx:idem:Charge:"?.*nested/s);
    expect([Wide.runs, Narrow.runs]).toEqual([1, 0]);
  });

  /** Two modules that both have a class called Charge, bundled into one program that tells their keys. */
  async function keysOfBundle(order: readonly string[]): Promise<unknown> {
    const module = (name: string): string => `
      import { Task, idempotentBy } from "taskwright";
      class Charge extends Task.with({ name: "${name}" }) { work() {} }
      idempotentBy(() => "1")(Charge);
      export { Charge };`;
    const entry = `
      import { keyFor } from "taskwright";
      ${order.map((name) => `import { Charge as ${name} } from "${name}";`).join("\n")}
      process.send({ kind: "keys", keys: [await keyFor(cards, {}), await keyFor(giro, {})] });
      process.disconnect();`;
    const modules = new Map([["entry", entry], ...order.map((name) => [name, module(name)] as const)]);
    const bundled = await build({
      configFile: false,
      logLevel: "silent",
      build: {
        write: false,
        minify: false,
        target: "node20",
        lib: { entry: "entry", formats: ["es"] },
        rollupOptions: { external: "taskwright" },
      },
      plugins: [
        {
          name: "modules",
          enforce: "pre",
          resolveId: (id) => (modules.has(basename(id)) ? basename(id) : null),
          load: (id) => modules.get(id),
        },
      ],
    });
    const [output] = [bundled].flat();
    if (output === undefined || !("output" in output)) throw new Error("a build without watching gives its output");
    const file = `bundle-${process.pid}-${order.join("-")}.mjs`;
    writeFileSync(join(builtPackage(), "programs", file), output.output[0].code);
    const { keys } = await new Program(file).next("keys");
    rmSync(join(builtPackage(), "programs", file));
    return keys;
  }

  test("keep the names that they were given, in whatever order a bundler meets and renames their classes", async () => {
    const expected = ["cmdx:idem:cards:1", "cmdx:idem:giro:1"];

    expect(await keysOfBundle(["cards", "giro"])).toEqual(expected);
    expect(await keysOfBundle(["giro", "cards"])).toEqual(expected);
  });
});

describe("the text of a key", () => {
  onEachStore((open) => {
    // Keys are taken as they are given: two ways to write one word are two keys, and nothing is merged that a store would not merge.
    test("is not normalised: composed and decomposed letters, and compatible forms, are different keys", async () => {
      const store = keepIn(open());
      const forms = ["Caf\u00E9", "Cafe\u0301", "\uFB01n", "fin"];
      let form = "";
      const Report = keyedBy(() => form);

      for (form of forms) expect((await Report.execute({})).status).toBe("success");
      for (form of forms) expect((await Report.execute({})).status).toBe("skipped");

      expect(await keysIn(store)).toHaveLength(4);
    });

    test("is kept whole, however long it is", async () => {
      const store = keepIn(open());
      const start = "s".repeat(200);
      const long = [`${start}${"a".repeat(100)}`, `${start}${"b".repeat(100)}`, "x".repeat(20_000)];
      let at = 0;
      const Report = keyedBy(() => long[at]);

      for (at = 0; at < long.length; at += 1) await Report.execute({});

      expect(Report.runs).toBe(3);
      expect(await keysIn(store)).toEqual(long.map((segment) => `cmdx:idem:Report:${segment}`).toSorted());
    });

    test("is never that of an object: what a middleware added would be part of it", async () => {
      const store = keepIn(open());
      const Report = keyedBy((task) => task.context as unknown as Segment); // what code without a compiler may return
      use((task, next) => {
        task.context["requestedAt"] = task.runId;
        return next();
      })(Report);

      const result = await Report.execute({});

      expect(result).toMatchObject({ status: "failed" });
      expect(result.reason).toContain("Pick the fields that tell one request from another");
      expect(Report.runs).toBe(0);
      expect(await keysIn(store)).toEqual([]);
    });

    test("of a fixed kind is the same for every run", async () => {
      const store = keepIn(open());
      class Nightly extends Task.with() {
        work(): void {}
      }
      idempotentBy(literal("nightly:report"))(Nightly);

      const statuses = [(await Nightly.execute()).status, (await Nightly.execute()).status];

      expect(statuses).toEqual(["success", "skipped"]);
      expect(await keysIn(store)).toEqual(["cmdx:idem:Nightly:nightly:report"]);
    });
  });

  test("is the one that the duplicate's result shows", async () => {
    const Charge = chargeTask();
    await Charge.execute({ paymentId: "pay 1/ä" });

    const duplicate = await Charge.execute({ paymentId: "pay 1/ä" });

    expect(duplicate.metadata["idempotencyKey"]).toBe("cmdx:idem:ChargeCustomer:pay 1/ä");
  });
});
