import { DefinitionError } from "../errors.js";
import { describe } from "../support/check.js";
import { declaredAt, lineage, TASK_MARK } from "./metadata.js";
import { contractFeature } from "./contract-feature.js";

/** What a class without a name is called in events and logs. It is no name to make keys of. */
export const ANONYMOUS = "(anonymous task)";

interface TaskName {
  readonly name: string;
  /** Was it given on purpose, or is it the class's, which a bundler may have changed? */
  readonly explicit: boolean;
}

/** The task's name: `static taskName`, else the nearest `with({ name })`, else the name of the class. */
export function taskNameOf(type: object): string {
  return read(type).name;
}

/**
 * The name for use in keys that outlive the process.
 *
 * @throws {DefinitionError} when there is none that can be trusted, with the cure.
 */
export function keyNameOf(type: object): string {
  const { name, explicit } = read(type);
  const cure = 'Name the task: Task.with({ name: "ChargeCustomer", … }) or static taskName = "ChargeCustomer".';
  if (name === ANONYMOUS) throw new DefinitionError(`This task is a class without a name, and its keys need one. ${cure}`);
  if (!explicit && name.length <= 2)
    throw new DefinitionError(
      `The class name ${JSON.stringify(name)} looks like a minifier's, and keys made of it would change with the next build. ${cure}`,
    );
  if (/[:\p{Cc}]/u.test(name))
    throw new DefinitionError(`The task name ${JSON.stringify(name)} has a ":" or a control character, which keys cannot hold. ${cure}`);
  return name;
}

// Read when it is asked for and never while decorating: bundlers set a class's name after its decorators have run.
function read(type: object): TaskName {
  const name = staticName(type) ?? contractName(type);
  if (name !== undefined) return { name, explicit: true };
  const className: unknown = Reflect.get(type, "name");
  return { name: typeof className === "string" && className !== "" ? className : ANONYMOUS, explicit: false };
}

/** What the class gives as `static taskName`, as a field or a getter, or inherits as any static is inherited. */
function staticName(type: object): string | undefined {
  const giver = lineage(type).findLast((at) => Object.hasOwn(at, "taskName"));
  if (giver === undefined || Object.hasOwn(giver, TASK_MARK)) return undefined;
  const name: unknown = Reflect.get(type, "taskName");
  if (typeof name === "string" && name.trim() !== "") return name;
  throw new DefinitionError(`static taskName must be a text that is not blank, got ${describe(name)}.`);
}

/** A name given to `with` is that of the one class which extends what `with` returned; what extends that class is another task. */
function contractName(type: object): string | undefined {
  // What a class extends is an object: another class, or the prototype of functions.
  const binding = [type, Object.getPrototypeOf(type) as object].find((at) => Object.hasOwn(at, BINDING));
  return binding === undefined ? undefined : declaredAt(binding, contractFeature).at(-1)?.name;
}

/** Marks the classes that `with` makes. */
export const BINDING: unique symbol = Symbol.for("taskwright.binding");
