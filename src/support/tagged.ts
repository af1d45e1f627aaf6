import { parse, stringify } from "devalue";

/** Values as tagged JSON, devalue's, which keeps dates, bigints, maps, sets, URLs, typed arrays, undefined and NaN apart. */

/** @throws for what would come back as something else: functions, symbols, instances of classes, subclasses of built-ins. */
export function writeTagged(value: unknown): string {
  return stringify(value, REDUCERS);
}

/** @throws when the text is not of this format. */
export function readTagged(text: string): unknown {
  return parse(text, REVIVERS);
}

/** Where devalue's own rules would say too much or too little. */
const REDUCERS: Record<string, (value: unknown) => unknown> = {
  /** A view of part of a buffer is copied out of it: the rest may be other people's data, Node's pool of small buffers say. */
  View: (value) => ArrayBuffer.isView(value) && value.byteLength < value.buffer.byteLength && !isSubclass(value) && partOf(value),
  /** A subclass of a built-in (a Buffer, a Map of somebody's own) would come back as the built-in, and not as what it was. */
  Subclass: (value) => {
    if (typeof value === "object" && value !== null && isSubclass(value))
      throw new TypeError(`instances of ${value.constructor.name} cannot be given back as they were`);
    return false;
  },
};
const REVIVERS: Record<string, (value: unknown) => unknown> = { View: (value) => value };

function partOf(view: ArrayBufferView): unknown {
  const bytes = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
  return Reflect.construct(view.constructor, [bytes]); // the same kind of view
}

function isSubclass(value: object): boolean {
  const builtIn: unknown = Reflect.get(globalThis, Object.prototype.toString.call(value).slice("[object ".length, -1));
  return typeof builtIn === "function" && builtIn !== Object && Object.getPrototypeOf(value) !== builtIn.prototype;
}
