import { DefinitionError } from "../errors.js";
import { describe } from "../support/check.js";

/** @throws {DefinitionError} unless these are texts that are not blank. */
export function checkTags(option: string, tags: unknown): void {
  if (!Array.isArray(tags)) throw new DefinitionError(`${option} must be an array of texts, got ${describe(tags)}.`);
  const wrong: unknown = tags.find((tag) => typeof tag !== "string" || tag.trim() === "");
  if (wrong !== undefined || tags.includes(undefined))
    throw new DefinitionError(`${option} must be texts that are not blank, got ${describe(wrong)}.`);
}
