import { DefinitionError } from "../errors.js";
import { checkOptions, describe } from "../support/check.js";
import type { Feature } from "./metadata.js";
import type { ObjectSchema } from "./schema.js";

/** What `Task.with` takes. */
export interface Contract<I extends ObjectSchema | undefined, O extends ObjectSchema | undefined> {
  /** Schema of the input: an object schema of zod, valibot, arktype or any other Standard Schema. Left out: the task takes nothing. */
  readonly input?: I;
  /** Schema of the output: `work` returns its input side, the result carries its output side. Left out: whatever `work` returns. */
  readonly output?: O;
  /** The task's name in keys, events and logs. @default the class's name */
  readonly name?: string;
}
export type AnyContract = Contract<ObjectSchema | undefined, ObjectSchema | undefined>;

export const contractFeature: Feature<AnyContract, AnyContract> = {
  name: "contract",
  merge: (inherited, declared) => ({ ...inherited, ...declared }),
};

/** @throws {DefinitionError} when the contract is not one, as far as can be told before a value comes. */
export function checkContract(contract: AnyContract): void {
  checkOptions("Task.with()", contract, ["input", "output", "name"]);
  checkSchema("input", contract.input);
  checkSchema("output", contract.output);
  if (contract.name !== undefined && (typeof contract.name !== "string" || contract.name.trim() === "")) {
    throw new DefinitionError(`Task.with(): name must be a text that is not blank, got ${describe(contract.name)}.`);
  }
}

function checkSchema(part: "input" | "output", schema: unknown): void {
  if (schema === undefined) return;
  const standard: unknown =
    (typeof schema === "object" || typeof schema === "function") && schema !== null ? Reflect.get(schema, "~standard") : undefined;
  if (typeof standard !== "object" || standard === null || typeof Reflect.get(standard, "validate") !== "function") {
    throw new DefinitionError(`Task.with(): ${part} must be a schema, such as z.object({ … }), got ${describe(schema)}.`);
  }
  const kind = zodKind(schema as object); // it has properties
  if (kind !== undefined && SCALARS.has(kind)) throw scalarSchema(part, `z.${kind}()`);
}

/** The kinds of zod schemas that can never give an object with named fields. */
const SCALARS: ReadonlySet<string> = new Set(
  "string number int boolean bigint symbol undefined null void never nan literal enum template_literal date array tuple set map file promise function".split(
    " ",
  ),
);

function zodKind(schema: object): string | undefined {
  const def: unknown = "def" in schema ? schema.def : undefined;
  return typeof def === "object" && def !== null && "type" in def && typeof def.type === "string" ? def.type : undefined;
}

export function scalarSchema(part: "input" | "output", found: string): DefinitionError {
  return new DefinitionError(
    `Task.with(): ${part} must be an object schema, got ${found}. Name the value: z.object({ value: ${found.startsWith("z.") ? found : "…"} }).`,
  );
}
