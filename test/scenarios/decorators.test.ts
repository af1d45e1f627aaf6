import { mkdirSync, writeFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import ts5 from "typescript-5.9";
import ts6 from "typescript-6";
import { transformWithEsbuild } from "vite";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { DefinitionError, idempotentBy, resetConfiguration, Task } from "taskwright";
import { z } from "zod";
import { thrownBy } from "../support/builders.js";
import { builtPackage, Program } from "./fixtures/package.js";
import { expectNothingUnhandled } from "./fixtures/watch.js";

expectNothingUnhandled();
afterEach(() => {
  resetConfiguration();
});

describe("a parent's idempotency", () => {
  const contract = { input: z.object({ requestId: z.string(), paymentId: z.string() }) };

  /** A parent and four children, each declared in a function, so that a test chooses the order of declarations. */
  function family() {
    @idempotentBy("requestId", { ttl: 600 })
    class Parent extends Task.with(contract) {
      work(): void {}
    }
    class Narrower extends Parent {}
    class Without extends Parent {}
    class Same extends Parent {}
    class Again extends Without {}
    const declarations = {
      narrower: () => idempotentBy("paymentId")(Narrower),
      without: () => idempotentBy(false)(Without),
      again: () => idempotentBy({ ttl: 60 })(Again),
    };
    return { Parent, Narrower, Without, Same, Again, declarations };
  }

  type Declaration = "narrower" | "without" | "again";
  const orders: readonly (readonly Declaration[])[] = [
    ["narrower", "without", "again"],
    ["without", "again", "narrower"],
    ["again", "narrower", "without"],
  ];

  test.each(orders)("is changed by no child, in whatever order they are declared: %s, %s, %s", (...order) => {
    const { Parent, Narrower, Without, Same, Again, declarations } = family();
    const before = Parent.idempotency;

    for (const name of order) declarations[name]();

    const told = [Parent, Narrower, Without, Same, Again].map(
      ({ idempotency }) => idempotency && [idempotency.resolver, idempotency.ttlMs],
    );
    const byRequest = { kind: "field", field: "requestId" };
    expect(told).toEqual([
      [byRequest, 600_000],
      [{ kind: "field", field: "paymentId" }, 600_000],
      undefined,
      [byRequest, 600_000],
      undefined,
    ]);
    expect(Parent.idempotency).toEqual(before);
  });

  test("holds for a child that is decorated after it has run", async () => {
    const { Narrower, Without, Same, declarations } = family();
    const input = { requestId: "r1", paymentId: "p1" };
    const statuses = async (Child: typeof Same): Promise<string[]> => [
      (await Child.execute(input)).status,
      (await Child.execute(input)).status,
    ];

    expect(await statuses(Without)).toEqual(["success", "skipped"]); // not yet turned off
    declarations.without();
    declarations.narrower();

    expect(await statuses(Without)).toEqual(["success", "success"]);
    expect(await statuses(Narrower)).toEqual(["success", "skipped"]);
    expect(await statuses(Same)).toEqual(["success", "skipped"]);
    const duplicate = await Narrower.execute({ requestId: "r2", paymentId: "p1" });
    expect(duplicate.metadata["idempotencyKey"]).toBe("cmdx:idem:Narrower:p1");
  });
});

describe("idempotentBy in a wrong place", () => {
  const decorate = idempotentBy("id") as unknown as (target: unknown, context: unknown) => void; // as a caller without a compiler writes
  class Sample extends Task.with() {
    work(): void {}
  }

  test.each([
    ["a standard method", () => decorate(() => undefined, { kind: "method", name: "work" }), "a method"],
    ["a standard field", () => decorate(undefined, { kind: "field", name: "work" }), "a field"],
    ["a legacy method", () => decorate(Sample.prototype, "work"), "the member work"],
    ["a class that is no task", () => decorate(URL, undefined), "the function URL"],
    ["nothing", () => decorate(undefined, undefined), "undefined"],
  ])("is refused with the right place: %s", (_, misplace, found) => {
    const refusal = thrownBy(misplace);

    expect(refusal).toBeInstanceOf(DefinitionError);
    expect(String(refusal)).toContain("@idempotentBy() stands on a task class");
    expect(String(refusal)).toContain(found);
  });
});

describe("one task, compiled by different compilers", () => {
  const SOURCE = `
    import { idempotentBy, onSuccess, retryOn, Task, type Result } from "taskwright";
    import { z } from "zod";

    const seen: string[] = [];

    @idempotentBy("requestId", { ttl: 600 })
    class Base extends Task.with({ input: z.object({ requestId: z.string() }) }) {
      work(): { id: string } {
        seen.push(this.input.requestId);
        return { id: this.input.requestId };
      }
      @onSuccess() noted(): void {
        seen.push("noted");
      }
    }

    @idempotentBy({ onDuplicate: "fail" })
    @retryOn(Error)
    class ChargeCustomer extends Base {
      @onSuccess() mailed(): void {
        seen.push("mailed");
      }
    }

    @idempotentBy(false)
    class Unprotected extends Base {}

    const input = { requestId: "r1" };
    const results: Result[] = [];
    for (const Action of [Base, ChargeCustomer, Unprotected]) results.push(await Action.execute(input), await Action.execute(input));
    const told = results.map(({ status, metadata }) => [status, metadata["idempotencyKey"] ?? ""].join(" ").trim());
    process.send!({ kind: "told", told, seen, ttl: ChargeCustomer.idempotency?.ttlMs });
    process.disconnect!();
  `;

  const typescript = (ts: typeof ts6, experimentalDecorators: boolean) => (): string =>
    ts.transpileModule(SOURCE, {
      compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, experimentalDecorators, verbatimModuleSyntax: true },
    }).outputText;
  const esbuild = (experimentalDecorators: boolean, minify: boolean) => async (): Promise<string> => {
    const { code } = await transformWithEsbuild(SOURCE, "task.ts", {
      target: "node20",
      minifyIdentifiers: false,
      minifySyntax: minify,
      tsconfigRaw: { compilerOptions: { experimentalDecorators } },
    });
    return code;
  };
  const compilers: readonly (readonly [string, () => string | Promise<string>])[] = [
    ["TypeScript 5.9, standard", typescript(ts5 as unknown as typeof ts6, false)], // both have the one function that is used
    ["TypeScript 5.9, legacy", typescript(ts5 as unknown as typeof ts6, true)], // as above
    ["TypeScript 6, standard", typescript(ts6, false)],
    ["TypeScript 6, legacy", typescript(ts6, true)],
    ["esbuild, standard", esbuild(false, false)],
    ["esbuild, legacy", esbuild(true, false)],
    ["esbuild, standard, shortened", esbuild(false, true)],
  ];

  const folder = (): string => join(builtPackage(), "programs", `compiled-${process.pid}`);
  afterAll(() => {
    rmSync(folder(), { recursive: true, force: true });
  });

  test.each(compilers)("behaves the same: %s", async (name, compile) => {
    mkdirSync(folder(), { recursive: true });
    const file = `${name.replaceAll(/\W+/g, "-")}.mjs`;
    writeFileSync(join(folder(), file), await compile());
    const program = new Program(join(`compiled-${process.pid}`, file));

    const answer = await program.next("told");

    expect(await program.end(10_000)).toBe(0);
    expect(answer).toEqual({
      kind: "told",
      told: ["success", "skipped cmdx:idem:Base:r1", "success", "failed cmdx:idem:ChargeCustomer:r1", "success", "success"],
      seen: ["r1", "noted", "r1", "noted", "mailed", "r1", "noted", "r1", "noted"],
      ttl: 600_000,
    });
  });
});

test("a class is made idempotent by a call as well as by a decorator", async () => {
  class Plain extends Task.with({ input: z.object({ id: z.string() }) }) {
    work(): void {}
  }
  idempotentBy("id")(Plain);

  const statuses = [(await Plain.execute({ id: "1" })).status, (await Plain.execute({ id: "1" })).status];

  expect(statuses).toEqual(["success", "skipped"]);
});
