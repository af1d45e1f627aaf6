import { DefinitionError } from "../errors.js";
import { effective, lineage } from "./metadata.js";
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
  const own = ownName(type);
  if (own !== undefined) return { name: own, explicit: true };
  const declared = effective(type, contractFeature)?.name;
  if (declared !== undefined && namedItself(type)) return { name: declared, explicit: true };
  const className: unknown = Reflect.get(type, "name");
  return { name: typeof className === "string" && className !== "" ? className : ANONYMOUS, explicit: false };
}

function ownName(type: object): string | undefined {
  const descriptor = Object.getOwnPropertyDescriptor(type, "taskName");
  const name: unknown = descriptor?.value;
  return typeof name === "string" ? name : undefined;
}

/** A given name is the name of one class; what extends that class is another task. */
function namedItself(type: object): boolean {
  const line = lineage(type);
  const binding = line.findLastIndex((at) => Object.hasOwn(at, BINDING));
  return binding >= line.length - 2;
}

/** Marks the classes that `with` makes. */
export const BINDING: unique symbol = Symbol("taskwright.binding");
