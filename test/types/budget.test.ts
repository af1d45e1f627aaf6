import { beforeAll, describe, expect, test } from "vitest";
import { Application, newest, oldest, type Checked } from "./compilers.js";

const TASKS = 200;

/** An application of many tasks, as they are: five fields of input, two of output, and a call. */
function manyTasks(): Application {
  const application = new Application("budget").install();
  for (let n = 0; n < TASKS; n += 1) application.write(`task${n}.ts`, taskSource(n));
  return application;
}

function taskSource(n: number): string {
  return `
import { Task } from "taskwright";
import { z } from "zod";

export class Task${n} extends Task.with({
  input: z.object({
    id${n}: z.string(),
    amount: z.coerce.number().int(),
    currency: z.enum(["USD", "EUR"]).default("USD"),
    note: z.string().optional(),
    at: z.coerce.date(),
  }),
  output: z.object({ charge${n}: z.string(), at: z.coerce.date() }),
}) {
  async work() {
    return { charge${n}: this.input.id${n}, at: this.input.at };
  }
}
export const result${n} = await Task${n}.execute({ id${n}: "a", amount: "1", at: "2026-01-01" });
`;
}

/** Counts do not depend on the machine, so they can be held to. A few per cent above what was measured, so that growth shows. */
const budgets = [
  { compiler: newest, args: ["--singleThreaded"], types: 98_000, instantiations: 500_000 },
  { compiler: oldest, args: [], types: 97_000, instantiations: 500_000 },
];

describe.each(budgets)(`${TASKS} tasks, checked by $compiler.name`, ({ compiler, args, types, instantiations }) => {
  let checked: Checked;
  const figure = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(checked.output)?.[1]);
  beforeAll(async () => {
    checked = await manyTasks().check(compiler, {}, "--extendedDiagnostics", ...args);
    const time = /^Check time:\s+(\S+)/m.exec(checked.output)?.[1];
    console.log(`${compiler.name}: ${figure("Types")} types, ${figure("Instantiations")} instantiations, ${time} to check ${TASKS} tasks`);
  }, 180_000);

  test("compile", () => {
    expect(checked.code, checked.output).toBe(0);
  });

  test("make no more types than they did", () => {
    expect(figure("Types")).toBeGreaterThan(types * 0.9);
    expect(figure("Types")).toBeLessThan(types);
  });

  test("make no more instantiations than they did", () => {
    expect(figure("Instantiations")).toBeGreaterThan(instantiations * 0.9);
    expect(figure("Instantiations")).toBeLessThan(instantiations);
  });
});
