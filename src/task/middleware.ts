import { DefinitionError } from "../errors.js";
import { checkOptions, describe } from "../support/check.js";
import { checkGates, GATE_OPTIONS, type Gates } from "./gates.js";
import { checkClassTarget, declare, declaredAt, lineage, type Feature, type TaskDecorator } from "./metadata.js";
import type { Link, Next } from "./onion.js";
import type { Outcome } from "./outcome.js";
import type { Task } from "./task.js";

/**
 * Something that goes around whole runs. It calls `next()` once and sees what became of the run; or it turns the run away
 * by `task.skip()`, `task.fail()` or an outcome of its own. What it does after `next()` changes nothing any more.
 */
export type Middleware<T extends Task = Task> = MiddlewareFunction<T> | MiddlewareObject<NoInfer<T>>;
/** A middleware with state of its own: a class can implement this. */
export interface MiddlewareObject<T extends Task = Task> {
  call(task: T, next: Next): Promise<Outcome | void> | Outcome | void;
}
export type MiddlewareFunction<T extends Task = Task> = (task: T, next: Next) => Promise<Outcome | void> | Outcome | void;

const middlewareFeature: Feature<Link, Link> = { name: "middleware", merge: (_, declared) => declared };

/** Puts a middleware around a task's runs. Of several on one class the uppermost is the outermost; a parent's lie outside its child's. */
export function use<T extends Task = Task>(middleware: Middleware<T>, gates: Gates<T> = {}): TaskDecorator<T> {
  const link = middlewareLink(middleware, gates);
  return (target, context) => {
    checkClassTarget("@use()", target, context);
    declare(target, middlewareFeature, link);
  };
}

export function middlewareLink<T extends Task>(middleware: Middleware<T>, gates: Gates<T>): Link {
  const call = typeof middleware === "function" ? middleware : middleware?.call?.bind(middleware);
  if (typeof call !== "function") {
    throw new DefinitionError(`A middleware is a function (task, next) or an object with call(task, next), got ${describe(middleware)}.`);
  }
  checkOptions("a middleware", gates, GATE_OPTIONS);
  checkGates("a middleware", gates);
  const name = typeof middleware === "function" ? middleware.name : middleware.constructor.name;
  // The plan of a class calls a link with that class's tasks only.
  return { name: `the middleware ${name === "" ? "without a name" : name}`, gates: gates as Gates, call };
}

/** The middlewares of a class, outermost first. Decorators apply from the lowest up, so each class's own are turned round. */
export function middlewaresOf(type: object): readonly Link[] {
  return lineage(type).flatMap((at) => declaredAt(at, middlewareFeature).toReversed());
}
