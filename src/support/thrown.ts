import { types } from "node:util";
import { ThrownValueError } from "../errors.js";
import { describe } from "./check.js";

/** The error that was thrown, or one that stands in for a thrown value that is no error. Errors of another realm are errors. */
export function toError(thrown: unknown): Error {
  if (isError(thrown)) return thrown;
  const message = typeof thrown === "string" ? thrown : `${describe(thrown)} was thrown, which is no Error`;
  return new ThrownValueError(message, { cause: thrown });
}

export function isError(value: unknown): value is Error {
  if (types.isNativeError(value)) return true;
  try {
    return value instanceof Error;
  } catch {
    return false; // a value that cannot be looked at, a revoked proxy say
  }
}

/** What an error says for itself, and never an empty text. */
export function messageOf(error: Error): string {
  try {
    const { message, name } = error;
    if (typeof message === "string" && message !== "") return message;
    return typeof name === "string" && name !== "" ? name : "Error";
  } catch {
    return "an error whose message cannot be read"; // a getter of somebody else's that throws
  }
}

/** Where an error came from, as far as it lets itself be read. */
export function stackOf(error: Error): string {
  try {
    const { stack } = error;
    return typeof stack === "string" && stack !== "" ? stack : messageOf(error);
  } catch {
    return messageOf(error);
  }
}
