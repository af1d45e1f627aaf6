import { DefinitionError } from "../errors.js";
import { checkFunction, checkOptions, describe, list } from "../support/check.js";
import { checkGates, GATE_OPTIONS, passes, type Gates } from "./gates.js";
import { checkClassTarget, declare, declaredAt, declareInBody, lineage, type Feature, type TaskDecorator } from "./metadata.js";
import { reportObserver } from "./observers.js";
import type { Link, Next } from "./onion.js";
import type { FailedOutcome, Outcome, SkippedOutcome, SuccessOutcome } from "./outcome.js";
import type { Run } from "./run.js";
import type { Task } from "./task.js";

/** The eleven callbacks and what each is given. The first three come before the outcome is sealed, the others after it. */
export interface CallbackArguments {
  before_execution: [];
  before_validation: [];
  around_execution: [next: Next];
  after_execution: [outcome: Outcome];
  on_complete: [outcome: SuccessOutcome];
  on_interrupted: [outcome: SkippedOutcome | FailedOutcome];
  on_success: [outcome: SuccessOutcome];
  on_skipped: [outcome: SkippedOutcome];
  on_failed: [outcome: FailedOutcome];
  on_ok: [outcome: SuccessOutcome | SkippedOutcome];
  on_ko: [outcome: SkippedOutcome | FailedOutcome];
}
export type CallbackName = keyof CallbackArguments;

/** A callback as a function: gets the task as `this` and as first argument. */
export type CallbackFunction<Name extends CallbackName, T extends Task = Task> = (
  this: T,
  task: T,
  ...rest: CallbackArguments[Name]
) => unknown;

/** A decorator for methods, in either protocol. The method's own arguments are checked against the callback's. */
export interface CallbackDecorator<Name extends CallbackName, T extends Task = Task> {
  <This extends T, Method extends (this: This, ...rest: CallbackArguments[Name]) => unknown>(
    value: Method,
    context: ClassMethodDecoratorContext<This, Method>,
  ): void;
  <This extends T, Method extends (this: This, ...rest: CallbackArguments[Name]) => unknown>(
    target: This,
    key: PropertyKey,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void;
}

export interface CallbackEntry extends Link {
  readonly callback: CallbackName;
  /** The method's name, where a method was decorated. */
  readonly key: PropertyKey | undefined;
  /** Is it called by that name, so that a subclass's override is the one that runs? */
  readonly overridable: boolean;
  call(task: Task, ...rest: unknown[]): unknown;
}
type Groups = Readonly<Record<CallbackName, readonly CallbackEntry[]>>;
/** The callbacks of a class, by name; and whether there are any before the run and after it, so that none cost nothing. */
export interface Callbacks extends Groups {
  readonly beforehand: boolean;
  readonly afterwards: boolean;
}

const NONE: Groups = {
  before_execution: [],
  before_validation: [],
  around_execution: [],
  after_execution: [],
  on_complete: [],
  on_interrupted: [],
  on_success: [],
  on_skipped: [],
  on_failed: [],
  on_ok: [],
  on_ko: [],
};
const CALLBACK_NAMES: readonly string[] = Object.keys(NONE);

export const callbacksFeature: Feature<CallbackEntry, CallbackEntry> = { name: "callbacks", merge: (_, declared) => declared };

/**
 * The callbacks of a class, the root's first; of each class its methods', then its own from the uppermost down. Decorators of a class
 * apply from the lowest up, so those are turned round. A method that a subclass overrides and decorates again stays in its place.
 */
export function callbacksOf(type: object): readonly CallbackEntry[] {
  return lineage(type).reduce<readonly CallbackEntry[]>((inherited, at) => {
    const declared = declaredAt(at, callbacksFeature);
    const onMethods = declared.filter(({ key }) => key !== undefined);
    const onClass = declared.filter(({ key }) => key === undefined).toReversed();
    const added = onMethods.filter((entry) => !inherited.some((other) => overrides(entry, other)));
    return [...inherited.flatMap((entry) => overridden(entry, inherited, onMethods)), ...added, ...onClass];
  }, []);
}

/** What stands in an inherited entry's place: itself, or the entries of the method that overrides it, once. */
function overridden(
  entry: CallbackEntry,
  inherited: readonly CallbackEntry[],
  declared: readonly CallbackEntry[],
): readonly CallbackEntry[] {
  const instead = declared.filter((other) => overrides(other, entry));
  if (instead.length === 0) return [entry];
  return inherited.find((other) => overrides(entry, other)) === entry ? instead : [];
}

function overrides(entry: CallbackEntry, other: CallbackEntry): boolean {
  return entry.overridable && other.overridable && entry.callback === other.callback && entry.key === other.key;
}

/** Sorts entries by callback, each in order of declaration. */
export function groupCallbacks(entries: readonly CallbackEntry[]): Callbacks {
  const groups = entries.reduce<Groups>((grouped, entry) => ({ ...grouped, [entry.callback]: [...grouped[entry.callback], entry] }), NONE);
  const before = groups.before_execution.length + groups.before_validation.length;
  return { ...groups, beforehand: before > 0, afterwards: entries.length > before + groups.around_execution.length };
}

/**
 * Adds a callback to a class: `@callback("on_failed", (task, outcome) => …)`. For methods there is a decorator of each name.
 *
 * @throws {DefinitionError} when there is no such callback, or no function.
 */
export function callback<Name extends CallbackName, T extends Task = Task>(
  name: Name,
  run: CallbackFunction<Name, T>,
  gates: Gates<T> = {},
): TaskDecorator<T> {
  const entry = callbackEntry(name, run, gates);
  return (target, context) => {
    checkClassTarget(`@callback("${name}")`, target, context);
    declare(target, callbacksFeature, entry);
  };
}

export function callbackEntry<Name extends CallbackName, T extends Task>(
  name: Name,
  run: CallbackFunction<Name, T>,
  gates: Gates<T>,
): CallbackEntry {
  if (!CALLBACK_NAMES.includes(name)) {
    throw new DefinitionError(`There is no callback ${describe(name)}. The callbacks are ${list(CALLBACK_NAMES)}.`);
  }
  checkFunction(`the callback ${name}`, run);
  checkOptions(`the callback ${name}`, gates, GATE_OPTIONS);
  checkGates(`the callback ${name}`, gates);
  // The plan of a class calls an entry with that class's tasks and this callback's arguments only.
  const call = (task: Task, ...rest: unknown[]): unknown => Reflect.apply(run, task, [task, ...rest]);
  return {
    callback: name,
    key: undefined,
    overridable: false,
    name: `the ${name} callback${run.name === "" ? "" : ` ${run.name}`}`,
    gates: gates as Gates, // as for the call
    call,
  };
}

type CallbackDecoratorFactory<Name extends CallbackName> = <T extends Task = Task>(gates?: Gates<T>) => CallbackDecorator<Name, T>;

/** Runs the method before anything of the task, also before the input is parsed. What it throws fails the run. */
export const beforeExecution: CallbackDecoratorFactory<"before_execution"> = (gates) => method("before_execution", gates);
/** Runs the method right before the input is parsed. */
export const beforeValidation: CallbackDecoratorFactory<"before_validation"> = (gates) => method("before_validation", gates);
/** Runs the method around parsing, the policies and `work`; it calls `next()` once, or answers with an outcome. */
export const aroundExecution: CallbackDecoratorFactory<"around_execution"> = (gates) => method("around_execution", gates);
/** Runs the method once the outcome is sealed, whatever it is. */
export const afterExecution: CallbackDecoratorFactory<"after_execution"> = (gates) => method("after_execution", gates);
/** Runs the method after a run that went through to its end. */
export const onComplete: CallbackDecoratorFactory<"on_complete"> = (gates) => method("on_complete", gates);
/** Runs the method after a run that was skipped or failed. */
export const onInterrupted: CallbackDecoratorFactory<"on_interrupted"> = (gates) => method("on_interrupted", gates);
/** Runs the method after a success. */
export const onSuccess: CallbackDecoratorFactory<"on_success"> = (gates) => method("on_success", gates);
/** Runs the method after a skip. */
export const onSkipped: CallbackDecoratorFactory<"on_skipped"> = (gates) => method("on_skipped", gates);
/** Runs the method after a failure. */
export const onFailed: CallbackDecoratorFactory<"on_failed"> = (gates) => method("on_failed", gates);
/** Runs the method after a success or a skip. */
export const onOk: CallbackDecoratorFactory<"on_ok"> = (gates) => method("on_ok", gates);
/** Runs the method after a skip or a failure. */
export const onKo: CallbackDecoratorFactory<"on_ko"> = (gates) => method("on_ko", gates);

type AnyMethod = (this: never, ...rest: never[]) => unknown;

function method<Name extends CallbackName, T extends Task>(name: Name, gates: Gates<T> = {}): CallbackDecorator<Name, T> {
  const decorator = `@${name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}()`;
  checkOptions(decorator, gates, GATE_OPTIONS);
  checkGates(decorator, gates);
  const entry = (key: PropertyKey, byName: boolean, value: AnyMethod): CallbackEntry => ({
    callback: name,
    key,
    overridable: byName,
    name: `the ${name} callback ${String(key)}`,
    gates: gates as Gates, // asked with tasks of the class it stands in
    // By name, so that a subclass's override is the one that runs; a #private method has no name to go by.
    call: (task, ...rest): unknown => Reflect.apply(byName ? (Reflect.get(task, key) as AnyMethod) : value, task, rest),
  });
  // One function for both protocols: standard calls it with (method, context), legacy with (prototype, key, descriptor).
  return (target: unknown, context: unknown, descriptor?: unknown): void => {
    if (isStandardContext(context)) {
      if (context.kind !== "method" || context.static) throw misplaced(decorator, `a ${context.static ? "static " : ""}${context.kind}`);
      // Of this kind, so the target is the method.
      declareInBody(bodyMetadata(decorator, context), callbacksFeature, entry(context.name, !context.private, target as AnyMethod));
      return;
    }
    const value: unknown = typeof descriptor === "object" && descriptor !== null && "value" in descriptor ? descriptor.value : undefined;
    if (typeof target !== "object" || target === null || typeof value !== "function") throw misplaced(decorator, describe(target));
    // Legacy, so the context is the key; the value was seen to be a function.
    declare(target.constructor, callbacksFeature, entry(context as PropertyKey, true, value as AnyMethod));
  };
}

function isStandardContext(context: unknown): context is ClassMethodDecoratorContext {
  return typeof context === "object" && context !== null && "kind" in context;
}

function bodyMetadata(decorator: string, context: ClassMethodDecoratorContext): DecoratorMetadataObject {
  const metadata: DecoratorMetadataObject | undefined = context.metadata; // absent where a compiler of before 2023 is at work
  if (metadata !== undefined) return metadata;
  throw new DefinitionError(
    `${decorator}: this compiler gives decorators no metadata. Use TypeScript 5.2 or later, or @callback() on the class.`,
  );
}

function misplaced(decorator: string, found: string): DefinitionError {
  return new DefinitionError(
    `${decorator} stands on a method of a task, but was put on ${found}. Move it above a method that is not static.`,
  );
}

/** Runs callbacks that may still decide the run. Throws what they throw; a halt that they swallow counts all the same. */
export async function runBefore(run: Run, entries: readonly CallbackEntry[]): Promise<Outcome | undefined> {
  for (const entry of entries) {
    if (passes(entry.gates, run.task)) await entry.call(run.task);
    if (run.halt !== undefined) return run.halt;
  }
  return undefined;
}

/** Runs callbacks on a sealed outcome. What they throw is reported and changes nothing. */
export async function runAfter(run: Run, entries: readonly CallbackEntry[], outcome: Outcome): Promise<void> {
  for (const entry of entries) {
    try {
      if (passes(entry.gates, run.task)) await entry.call(run.task, outcome);
    } catch (thrown) {
      reportObserver(run, entry.name, thrown);
    }
  }
}
