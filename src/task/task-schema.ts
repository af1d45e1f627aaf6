import { configuration } from "./configuration.js";
import { contractFeature } from "./contract-feature.js";
import { deprecationFeature } from "./deprecation.js";
import { declarationsOf, effective } from "./metadata.js";
import { isLayerFeature } from "./layer.js";
import { taskNameOf } from "./name.js";
import type { Json } from "./result-json.js";
import type { Schema } from "./schema.js";
import { settingsFeature } from "./settings.js";

/** What a task takes, gives and wears. Plain data, for documentation, OpenAPI and tools. */
export interface TaskSchema {
  readonly name: string;
  readonly description: string | undefined;
  readonly tags: readonly string[];
  /** What to use instead, when the task is deprecated. */
  readonly deprecated: string | undefined;
  /** JSON Schema (draft 2020-12) of what callers give; none when there is no schema, or it cannot tell. */
  readonly input: JsonSchema | undefined;
  /** JSON Schema of what a successful result carries. */
  readonly output: JsonSchema | undefined;
  /** The policies that take part in its runs, with their effective options. */
  readonly policies: Readonly<Record<string, Json>>;
}
export type JsonSchema = Readonly<Record<string, unknown>>;

export function describeTask(type: object): TaskSchema {
  const contract = effective(type, contractFeature) ?? {};
  const settings = effective(type, settingsFeature) ?? {};
  return Object.freeze({
    name: taskNameOf(type),
    description: settings.description ?? descriptionOf(contract.input),
    tags: [...new Set([...configuration.tags, ...(settings.tags ?? [])])],
    deprecated: effective(type, deprecationFeature)?.message,
    input: jsonSchemaOf(contract.input, "input"),
    output: jsonSchemaOf(contract.output, "output"),
    policies: policiesOf(type),
  });
}

function policiesOf(type: object): Record<string, Json> {
  const features = new Map(declarationsOf(type).map(({ feature }) => [feature.name, feature]));
  const described = [...features.values()].filter(isLayerFeature).map((feature): [string, Json | undefined] => {
    const options = effective(type, feature);
    return [feature.name, options === undefined ? undefined : feature.describe(options)];
  });
  return Object.fromEntries(described.filter((entry): entry is [string, Json] => entry[1] !== undefined));
}

/** The part of zod that makes JSON Schema: its own. What JSON cannot say (a date, a transform) is left open in it. */
interface MakesJsonSchema {
  toJSONSchema(options: { io: "input" | "output"; unrepresentable: "any" }): JsonSchema;
}

function jsonSchemaOf(schema: Schema | undefined, io: "input" | "output"): JsonSchema | undefined {
  return schema !== undefined && makesJsonSchema(schema) ? schema.toJSONSchema({ io, unrepresentable: "any" }) : undefined;
}

function makesJsonSchema(schema: Schema): schema is Schema & MakesJsonSchema {
  return "toJSONSchema" in schema && typeof schema.toJSONSchema === "function";
}

function descriptionOf(schema: Schema | undefined): string | undefined {
  return schema !== undefined && "description" in schema && typeof schema.description === "string" ? schema.description : undefined;
}
