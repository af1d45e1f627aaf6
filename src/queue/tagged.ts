import { parse, stringify } from "devalue";

/** Values as tagged JSON, which keeps dates, bigints, maps, sets, URLs, bytes, undefined and NaN apart. */

/** @throws for what would come back as something else: functions, instances of classes, subclasses of built-ins. */
export function writeTagged(value: unknown): string {
  return stringify(value, RULES);
}

export function readTagged(text: string): unknown {
  return parse(text, { Part: (view: unknown) => view });
}

const RULES: Record<string, (value: unknown) => unknown> = {
  // What is a part of a larger buffer travels by itself: the rest may be other people's bytes.
  Part: (value) => {
    if (!ArrayBuffer.isView(value) || value.byteLength === value.buffer.byteLength || isDerived(value)) return false;
    const own = value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength);
    return Reflect.construct(value.constructor, [own]) as unknown; // a view of the same kind
  },
  Derived: (value) => {
    if (typeof value === "object" && value !== null && isDerived(value))
      throw new TypeError(`an instance of ${value.constructor.name} would not come back as one`);
    return false;
  },
};

/** Is it an instance of a class that extends a built-in one, as a Buffer is? */
function isDerived(value: object): boolean {
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  const builtIn: unknown = Reflect.get(globalThis, tag);
  return typeof builtIn === "function" && builtIn !== Object && Object.getPrototypeOf(value) !== builtIn.prototype;
}
