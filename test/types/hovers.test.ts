import { join } from "node:path";
import ts from "typescript-6";
import { describe, expect, test } from "vitest";
import { Application } from "./compilers.js";

/** Each place to look at is marked by its words in brackets. */
const SOURCE = `
import { Task } from "taskwright";
import { z } from "zod";

class Charge extends Task.with({
  input: z.object({ orderId: z.string(), amount: z.coerce.number(), currency: z.enum(["USD", "EUR"]).default("USD") }),
  output: z.object({ chargeId: z.string(), at: z.coerce.date() }),
}) {
  async work() {
    this./*input*/input;
    this./*success*/success({ chargeId: "", at: 0 });
    return { chargeId: this.input./*field*/orderId, at: 0 };
  }
}
class Ping extends Task.with() {
  work() {
    return { pong: true };
  }
}
export const /*result*/result = await Charge./*execute*/execute({ orderId: "o1", amount: 1 });
export const /*bang*/bang = await Charge./*executeBang*/executeBang({ orderId: "o1", amount: 1 });
export const /*ping*/ping = await Ping./*nothing*/execute();
if (result.status === "success") result./*output*/output;
`;

describe("an editor shows", () => {
  const application = new Application("hovers").install().write("shop.ts", SOURCE);
  const editor = open(join(application.folder, "shop.ts"));
  /** What the editor shows over the name after the mark, on one line, and of a member without the class it belongs to. */
  const over = (mark: string): string => {
    const at = SOURCE.indexOf(`/*${mark}*/`) + mark.length + 4;
    const shown = ts.displayPartsToString(editor(at)).replaceAll(/\s+/g, " ");
    return shown.replace(/^\(property\) (?:.*\.)?(\w+: )/, "$1").replace(/^\(method\) Contracted<.*>\.(\w+\()/, "$1");
  };

  const given = '{ orderId: string; amount: unknown; currency?: "USD" | "EUR" | undefined; }';
  const output = "{ chargeId: string; at: Date; }";
  test.each([
    ["the parsed input", "input", 'input: Readonly<{ orderId: string; amount: number; currency: "USD" | "EUR"; }>'],
    ["a field of it", "field", "orderId: string"],
    ["what success takes", "success", "success(output: { chargeId: string; at: unknown; }, metadata?: object | undefined): never"],
    ["a result that has not failed", "bang", `const bang: Skipped | Success<${output}>`],
    ["the output", "output", `output: ${output}`],
    [
      "what executeBang takes and gives",
      "executeBang",
      `(method) executeBang<typeof Charge>(this: typeof Charge, input: ${given}, options?: ExecuteOptions | undefined): Promise<Skipped | Success<${output}>>`,
    ],
  ])("%s as plain objects", (_, mark, shown) => {
    expect(over(mark)).toBe(shown);
  });
});

/** An editor that has one file open. TypeScript 6, since version 7 has no such interface. */
function open(file: string): (position: number) => ts.SymbolDisplayPart[] | undefined {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2023.d.ts"],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    skipLibCheck: true,
    types: ["node"],
  };
  const service = ts.createLanguageService({
    fileExists: (path) => ts.sys.fileExists(path),
    readFile: (path) => ts.sys.readFile(path),
    directoryExists: (path) => ts.sys.directoryExists(path),
    getDirectories: (path) => ts.sys.getDirectories(path),
    getCompilationSettings: () => options,
    getCurrentDirectory: () => join(file, ".."),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot(path) {
      const text = ts.sys.readFile(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
  });
  return (position) => service.getQuickInfoAtPosition(file, position)?.displayParts;
}
