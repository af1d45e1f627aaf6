import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { describe, expect, test } from "vitest";
import { edgesOf, readSources, valueCycles, type Edge, type Sources } from "../support/module-graph.js";

/** A layer is a folder of src, a file beside the folders, or a file or folder in `stores`. What each may import beside itself: */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  support: ["errors"],
  telemetry: ["support", "errors"],
  "stores/store": ["support", "errors"],
  "stores/check": ["stores/store", "support", "errors"],
  "stores/sharded-map": ["support", "errors"],
  "stores/memory": ["stores/sharded-map", "stores/check", "stores/store", "support", "errors"],
  "stores/redis": ["stores/check", "stores/store", "support", "errors"],
  task: ["telemetry", "stores/store", "support", "errors"],
  // What locks and idempotency share. The embedded store is the default where none is configured.
  claims: ["task", "stores/memory", "telemetry", "stores/store", "support", "errors"],
  policies: ["claims", "task", "telemetry", "stores/store", "support", "errors"],
  idempotency: ["claims", "task", "telemetry", "stores/store", "support", "errors"],
  index: ["idempotency", "policies", "claims", "task", "stores/memory", "telemetry", "stores/store", "support", "errors"],
  redis: ["stores/redis", "stores/store"],
  queue: ["index", "task", "telemetry", "support", "errors"],
  // An engine, which knows of the queue its port and how it reckons cron expressions.
  bullmq: ["queue", "support", "errors"],
  adapters: ["index"],
  testing: ["index", "queue", "stores/store", "support", "errors"],
};

/** Types that go against the direction, each with its reason. A value never may. */
const TYPE_EXCEPTIONS: readonly { readonly from: string; readonly to: string }[] = [
  // `task_executed` carries the result. Telemetry only hands it on and knows nothing of what is in it.
  { from: "telemetry/events.ts", to: "task/result.ts" },
];

/** The packages from outside and the files that know each. Clients and validators are the user's: none is here. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  cborg: ["queue/serializers/cbor.ts"],
  cockatiel: ["policies/circuit.ts"],
  croner: ["queue/cron.ts"],
  devalue: ["support/tagged.ts"],
  "p-queue": ["queue/engines/memory/pool.ts"],
  "rate-limiter-flexible": ["policies/limiter.ts"],
  "reflect-metadata/lite": ["task/metadata.ts"],
};

/** Packages that are there only where their entry is used, and the file that knows each. */
const OPTIONAL_PEERS: Readonly<Record<string, string>> = { bullmq: "bullmq/driver.ts" };

const sources = readSources("src");
const edges = edgesOf(sources);

/** The name of a module's layer in the table above. */
function layerOf(path: string): string {
  const [folder = "", file = ""] = path.split("/");
  return (folder === "stores" ? `${folder}/${file}` : folder).replace(/\.ts$/, "");
}

function allowedFrom(layer: string): readonly string[] {
  const allowed = LAYERS[layer];
  if (allowed === undefined) throw new Error(`src/${layer} has no place among the layers. Give it one in this test.`);
  return [layer, ...allowed];
}

function forbiddenEdges(graph: readonly Edge[], known: Sources): readonly string[] {
  const isException = ({ from, to, value }: Edge): boolean =>
    !value && TYPE_EXCEPTIONS.some((exception) => exception.from === from && exception.to === to);
  return graph
    .filter((edge) => known.has(edge.to) && !isException(edge))
    .filter(({ from, to }) => !allowedFrom(layerOf(from)).includes(layerOf(to)))
    .map(({ from, to, value }) => `${from} → ${to}${value ? "" : " (type)"}`);
}

describe("the imports of src", () => {
  test("come from modules that all have their place among the layers", () => {
    expect([...new Set([...sources.keys()].map(layerOf))].filter((layer) => LAYERS[layer] === undefined)).toEqual([]);
  });

  test("go one way through the layers", () => {
    expect(forbiddenEdges(edges, sources)).toEqual([]);
  });

  test("have no cycle at run time", () => {
    expect(valueCycles(edges)).toEqual([]);
  });

  test("name modules that exist, or packages and parts of Node", () => {
    const lost = edges.filter(({ to }) => to.endsWith(".ts") && !sources.has(to));
    expect(lost).toEqual([]);
  });

  test("know each package from outside in the files named here, and only what is installed with the package", () => {
    const outside = edges.filter(({ to }) => !to.endsWith(".ts") && !isBuiltin(to));
    const manifest = JSON.parse(readFileSync("package.json", "utf8")) as { dependencies: object }; // our own file
    const isKnown = ({ from, to }: Edge): boolean => PACKAGES[to]?.includes(from) === true || OPTIONAL_PEERS[to] === from;
    expect(outside.filter((edge) => !isKnown(edge))).toEqual([]);
    expect(Object.keys(PACKAGES).map((name) => name.split("/")[0])).toEqual(Object.keys(manifest.dependencies));
  });

  test("reach an optional peer from its own entry alone", () => {
    const reachable = (from: string, seen = new Set<string>()): ReadonlySet<string> => {
      for (const { to, value, ...edge } of edges) if (edge.from === from && value && !seen.has(to)) reachable(to, seen.add(to));
      return seen;
    };
    const entries = ["index.ts", "queue/index.ts", "redis/index.ts", "testing/index.ts"];
    expect(entries.filter((entry) => Object.keys(OPTIONAL_PEERS).some((peer) => reachable(entry).has(peer)))).toEqual([]);
    expect(reachable("bullmq/index.ts")).toContain("bullmq");
  });

  test("lead from the main entry to no part of the queue, and to nothing that only the queue needs", () => {
    const reached = new Set(["index.ts"]);
    for (const from of reached) edges.filter((edge) => edge.from === from).forEach(({ to }) => reached.add(to));
    expect([...reached].filter((to) => to.startsWith("queue/") || ["p-queue", "cborg", "croner", "bullmq"].includes(to))).toEqual([]);
  });

  test("need every exception that is made for them", () => {
    const used = TYPE_EXCEPTIONS.filter(({ from, to }) => edges.some((edge) => edge.from === from && edge.to === to));
    expect(used).toEqual(TYPE_EXCEPTIONS);
  });
});

describe("the check of imports", () => {
  const check = (files: Record<string, string>): { forbidden: readonly string[]; cycles: readonly string[] } => {
    const planted: Sources = new Map(Object.entries(files));
    return { forbidden: forbiddenEdges(edgesOf(planted), planted), cycles: valueCycles(edgesOf(planted)) };
  };

  test.each([
    ["a task that names a policy", "task/run.ts", 'import { retryOn } from "../policies/retry.js";', "policies/retry.ts"],
    ["a policy that names idempotency", "policies/retry.ts", 'export * from "../idempotency/key.js";', "idempotency/key.ts"],
    ["a driver that names another", "stores/redis/store.ts", 'const memory = import("../memory.js");', "stores/memory.ts"],
    ["an error that names a check", "errors.ts", 'import "./support/check.js";', "support/check.ts"],
  ])("sees %s", (_, from, text, to) => {
    expect(check({ [from]: text, [to]: "" }).forbidden).toEqual([`${from} → ${to}`]);
  });

  test.each([
    ["an import", 'import type { Retry } from "../policies/retry.js";'],
    ["a re-export", 'export type { Retry } from "../policies/retry.js";'],
    ["a type in place", 'let retry: import("../policies/retry.js").Retry;'],
  ])("sees a forbidden type in %s, and tells it from a value", (_, text) => {
    const { forbidden } = check({ "task/run.ts": text, "policies/retry.ts": "" });
    expect(forbidden).toEqual(["task/run.ts → policies/retry.ts (type)"]);
  });

  test("allows an exception its type, but no value", () => {
    const check1 = check({ "telemetry/events.ts": 'import type { Result } from "../task/result.js";', "task/result.ts": "" });
    const check2 = check({ "telemetry/events.ts": 'import { type Result } from "../task/result.js";', "task/result.ts": "" });
    expect(check1.forbidden).toEqual([]);
    expect(check2.forbidden).toEqual(["telemetry/events.ts → task/result.ts"]);
  });

  test("sees a cycle through several modules once, and none that types alone make", () => {
    const { cycles } = check({
      "task/a.ts": 'import { b } from "./b.js";',
      "task/b.ts": 'export { c } from "./c.js";',
      "task/c.ts": 'import { a } from "./a.js"; import type { d } from "./d.js";',
      "task/d.ts": 'import { c } from "./c.js";',
    });
    expect(cycles).toEqual(["task/a.ts → task/b.ts → task/c.ts → task/a.ts"]);
  });

  test("refuses a folder that has no place among the layers", () => {
    expect(() => check({ "utils/things.ts": 'import "../errors.js";', "errors.ts": "" })).toThrow(
      "src/utils has no place among the layers",
    );
  });
});
