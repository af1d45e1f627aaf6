import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const page = readFileSync("docs/queue-clauses.md", "utf8");
const rows = page.split("\n").filter((line) => line.includes("“"));
const clauses = rows.filter((row) => /^\| F\d/.test(row));

/** The tests that a row names: `file: “name”`. */
function testsOf(row: string): { readonly file: string; readonly name: string }[] {
  return [...row.matchAll(/(\S+): “([^”]+)”/g)].map(([, file = "", name = ""]) => ({ file, name }));
}

test("the page has every clause once, in order", () => {
  const numbers = clauses.map((row) => row.split("|")[1]?.trim());

  expect(numbers).toEqual(Array.from({ length: 38 }, (_, at) => `F${at + 1}`));
});

test.each(rows)("%s", (row) => {
  const tests = testsOf(row);

  expect(tests.length).toBeGreaterThan(0);
  for (const { file, name } of tests) expect(readFileSync(`test/queue/${file}`, "utf8")).toContain(name);
});
