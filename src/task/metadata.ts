/**
 * Where classes keep what was declared on them. This file alone knows `reflect-metadata` and the two decorator protocols.
 *
 * A class holds only its own declarations; what it inherits is read from its ancestors each time it is needed. So a
 * parent never changes by its children, and a child sees what its parent is told later.
 */
import "reflect-metadata/lite";
import { DefinitionError } from "../errors.js";
import { describe } from "../support/check.js";
import type { Task } from "./task.js";

// Standard method decorators run before their class exists; all they have is `context.metadata`, which compilers provide only
// where this symbol exists. The value is the one that esbuild falls back to.
if (!("metadata" in Symbol)) Object.defineProperty(Symbol, "metadata", { value: Symbol.for("Symbol.metadata") });
const BODY = Reflect.get(Symbol, "metadata") as symbol; // set by now

/** A kind of thing that can be declared on a class, and how declarations add up from the root class to the leaf. */
export interface Feature<Declared, Effective> {
  readonly name: string;
  merge(inherited: Effective | undefined, declared: Declared): Effective | undefined;
}

export interface Declaration {
  readonly feature: Feature<unknown, unknown>;
  readonly value: unknown;
}

/** Any task class, abstract ones included: what class decorators stand on. */
export type TaskType = abstract new (...args: never[]) => Task;

/** A class decorator of either protocol, and a plain function: `retryOn(TimeoutError)(ChargeCustomer)`. */
export interface TaskDecorator<T extends Task = Task> {
  <C extends abstract new (...args: never[]) => T>(target: C, context?: ClassDecoratorContext<C>): void;
}

// Shared by all copies of the package, so that a class decorated by one is understood by the other.
const KEY = Symbol.for("taskwright.declarations");

let changes = 0;

/** Grows with every declaration, so that what was composed from them knows when it is out of date. */
export function declarationsVersion(): number {
  return changes;
}

export function declarationsChanged(): void {
  changes += 1;
}

/** Adds a declaration to a class. */
export function declare<D, E>(type: object, feature: Feature<D, E>, value: D): void {
  Reflect.defineMetadata(KEY, [...ownDeclarations(type), declaration(feature, value)], type);
  changes += 1;
}

/** Adds a declaration to the class whose body is being evaluated, under the standard protocol. */
export function declareInBody<D, E>(metadata: DecoratorMetadataObject, feature: Feature<D, E>, value: D): void {
  metadata[KEY] = [...bodyDeclarations(metadata), declaration(feature, value)];
  changes += 1;
}

/** The class and its ancestors, the root first. */
export function lineage(type: object): readonly object[] {
  const line: object[] = [];
  for (let at: unknown = type; typeof at === "function" && at !== Function.prototype; at = Object.getPrototypeOf(at)) line.unshift(at);
  return line;
}

/** All declarations that hold for a class, the root's first; those on methods before those on the class itself. */
export function declarationsOf(type: object): readonly Declaration[] {
  return lineage(type).flatMap(declarationsAt);
}

function declarationsAt(at: object): readonly Declaration[] {
  const body: unknown = Object.hasOwn(at, BODY) ? Reflect.get(at, BODY) : undefined;
  return typeof body === "object" && body !== null ? [...bodyDeclarations(body), ...ownDeclarations(at)] : ownDeclarations(at);
}

/** What was declared of a feature in this very class, its methods included, in order of declaration. */
export function declaredAt<D, E>(at: object, feature: Feature<D, E>): readonly D[] {
  return declarationsAt(at).flatMap(({ feature: declared, value }) => (declared.name === feature.name ? [value as D] : [])); // as in `effective`
}

/** What a feature amounts to for a class. */
export function effective<D, E>(type: object, feature: Feature<D, E>): E | undefined {
  let merged: E | undefined;
  for (const { feature: declared, value } of declarationsOf(type)) {
    // The name tells the feature, and the feature its type: `declare` takes only the two together.
    if (declared.name === feature.name) merged = feature.merge(merged, value as D);
  }
  return merged;
}

/** @throws {DefinitionError} when a class decorator stands on something that is no task class. */
export function checkClassTarget(decorator: string, target: unknown, context: unknown): asserts target is TaskType {
  const kind = typeof context === "object" && context !== null && "kind" in context ? String(context.kind) : undefined;
  if (typeof target === "function" && (kind === undefined || kind === "class") && !isMemberKey(context) && isTaskType(target)) return;
  const found =
    kind !== undefined && kind !== "class" ? `a ${kind}` : isMemberKey(context) ? `the member ${String(context)}` : describe(target);
  throw new DefinitionError(`${decorator} stands on a task class, but was put on ${found}. Move it above a class that extends Task.`);
}

function isTaskType(target: object): boolean {
  return lineage(target).some((at) => Object.hasOwn(at, TASK_MARK));
}

/** Marks the root of all tasks, in every copy of the package. */
export const TASK_MARK: unique symbol = Symbol.for("taskwright.task");

function isMemberKey(context: unknown): context is PropertyKey {
  return typeof context === "string" || typeof context === "symbol";
}

function ownDeclarations(type: object): readonly Declaration[] {
  const own: unknown = Reflect.getOwnMetadata(KEY, type);
  return (own ?? []) as readonly Declaration[]; // only `declare` writes under this key
}

function bodyDeclarations(metadata: object): readonly Declaration[] {
  // Metadata objects inherit from the parent class's: only what is its own counts here.
  return Object.hasOwn(metadata, KEY) ? (Reflect.get(metadata, KEY) as readonly Declaration[]) : [];
}

function declaration<D, E>(feature: Feature<D, E>, value: D): Declaration {
  return { feature, value }; // kept together; `effective` gives the type back
}
