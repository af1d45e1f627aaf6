import { existsSync, readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { runAsReader, runProgram } from "../support/run-program.js";
import { compileSnippets, snippetsOf, type Compiled, type Snippet } from "../support/snippets.js";

const guides = existsSync("docs") ? readdirSync("docs", { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".md")) : [];
const pages = ["README.md", "CONTRIBUTING.md", ...guides.toSorted().map((path) => `docs/${path}`)].filter((path) => existsSync(path));
const snippets = pages.flatMap((page) => snippetsOf(page, readFileSync(page, "utf8")));

describe("the code on the pages", () => {
  let compiled: Compiled;
  beforeAll(() => {
    compiled = compileSnippets(snippets, "docs");
  });

  test("is there for those who open the README", () => {
    expect(snippets.filter(({ page }) => page === "README.md").length).toBeGreaterThan(0);
  });

  describe.each(snippets)("of $page:$line", (snippet) => {
    test("compiles", () => {
      expect(compiled.faultsOf(snippet)).toBe("");
    });

    test.concurrent("runs to its end", async ({ expect }) => {
      const { code, stderr } = await runAsReader(compiled.programOf(snippet));
      expect(code, stderr).toBe(0);
    });
  });
});

describe("the check of code on pages", () => {
  const page = [
    "# A page", // 1
    "```ts", // 2
    'import { match } from "taskwright";',
    "const wrong: number = match;", // 4
    "```",
    "<!--ts",
    'const word: string = "seen";', // 7
    "-->",
    "```ts", // 9
    "console.log(word);",
    "```",
    "Now it throws:",
    "```ts continue", // 13
    "throw new Error(word);",
    "```",
    "<!--ts continue",
    'console.log("never");', // 17
    "-->",
  ].join("\n");
  const planted = snippetsOf("planted.md", page);
  const [mistyped, throwing] = planted as [Snippet, Snippet]; // asserted below

  test("finds each program of a page with its parts in order", () => {
    expect(planted.map(({ line }) => line)).toEqual([2, 9]);
    expect(throwing.text.split("\n").flatMap((text, at) => (text === "" ? [] : [at + 1]))).toEqual([7, 10, 14, 17]);
  });

  test("tells the place of a mistake in words of the page", async () => {
    const compiled = compileSnippets(planted, "planted-docs");
    expect(compiled.faultsOf(mistyped)).toMatch(/^planted\.md\(4,7\): error TS2322/);
    expect(compiled.faultsOf(throwing)).toBe("");

    const { code, stdout, stderr } = await runProgram(compiled.programOf(throwing));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "seen\n" });
    expect(stderr).toContain("Error: seen");
    expect(stderr).toContain("planted.md.9.ts:14");
  });

  test("leaves other languages alone, also when they show a fence", () => {
    expect(snippetsOf("a.md", "```sh\nnpm ci\n```\n````md\n```js\n```\n````\n<!-- a remark -->")).toEqual([]);
  });

  test.each([
    ["another fence", "```typescript\n1;\n```", 'a.md:1: "```typescript": code is fenced as `ts` or `ts continue`'],
    ["a word that is no convention", "\n```ts ignore\n1;\n```", 'a.md:2: "```ts ignore"'],
    ["JavaScript", "```js\n1;\n```", 'a.md:1: "```js"'],
    ["an indented fence", "- one\n  ```ts\n  1;\n  ```", 'a.md:2: "  ```ts"'],
    ["a fence of tildes", "~~~ts\n1;\n~~~", 'a.md:1: "~~~ts"'],
    ["a continuation of nothing", "```ts continue\n1;\n```", "a.md:1: there is no block to continue"],
    ["set-up above no block", "<!--ts\n1;\n-->\nText.", "a.md:3: hidden set-up stands directly above a block fenced as ts"],
    ["hidden code on one line", "<!--ts 1; -->", 'a.md:1: "<!--ts 1; -->"'],
    ["a block that is never closed", "```ts\n1;", "a.md:1: what is opened here is never closed"],
  ])("refuses %s", (_, markdown, message) => {
    expect(() => snippetsOf("a.md", markdown)).toThrow(message);
  });
});
