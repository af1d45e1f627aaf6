import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const page = readFileSync("docs/idempotency-clauses.md", "utf8");
const rows = page.split("\n").filter((line) => /^\| [IG]\d/.test(line));

/** The tests that a row names: `file: “name”`. */
function testsOf(row: string): { readonly file: string; readonly name: string }[] {
  return [...row.matchAll(/(\S+): “([^”]+)”/g)].map(([, file = "", name = ""]) => ({ file, name }));
}

function pathOf(file: string): string {
  if (file === "seed") return "test/scenarios/seed-clauses.test.ts";
  return file.includes("/") ? file : `test/idempotency/${file}`;
}

test("the page has every clause once, in order", () => {
  const numbered = (letter: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${letter}${at + 1}`);

  expect(rows.map((row) => row.split("|")[1]?.trim())).toEqual([...numbered("I", 50), ...numbered("G", 28)]);
});

test.each(rows)("%s", (row) => {
  const tests = testsOf(row);

  expect(tests.length).toBeGreaterThan(0);
  for (const { file, name } of tests) expect(readFileSync(pathOf(file), "utf8")).toContain(name);
});
