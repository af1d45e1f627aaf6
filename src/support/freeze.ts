/** How deep a frozen copy goes; what lies deeper is kept by reference. Nobody notes that much, and no stack is without end. */
const MAX_DEPTH = 100;
const UNREADABLE = "[unreadable]";

/**
 * A frozen copy of what a person noted: plain objects and arrays are copied all the way down, so that the owner's data
 * is left as it is; everything else (dates, errors, instances, results) is kept by reference. Never throws: what cannot be read
 * is the text `[unreadable]`.
 */
export function frozenCopy<T>(value: T): T {
  return copy(value, new Map(), 0) as T; // copies keep the shape of what they copy
}

function copy(value: unknown, seen: Map<object, unknown>, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth === MAX_DEPTH) return value;
  try {
    return seen.get(value) ?? copyObject(value, seen, depth);
  } catch {
    return UNREADABLE; // a proxy of somebody's that throws
  }
}

function copyObject(value: object, seen: Map<object, unknown>, depth: number): unknown {
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    seen.set(value, items);
    for (let i = 0; i < value.length; i += 1) items.push(copy(read(value, i), seen, depth + 1));
    return Object.freeze(items);
  }
  if (!isPlain(value) || hasHiddenMethods(value)) return value;
  const record: Record<string, unknown> = {};
  seen.set(value, record);
  for (const key of Object.keys(value)) setOwn(record, key, copy(read(value, key), seen, depth + 1));
  return Object.freeze(record);
}

/**
 * A shallow copy, to be frozen. By `Object.assign`, since Node 20 gives every object that was made by a spread and then frozen or
 * added to a hidden class of its own, which makes it, and every later look into it, many times slower.
 */
export function shallowCopy<T extends object>(value: T): T {
  return Object.hasOwn(value, "__proto__") ? { ...value } : Object.assign({}, value);
}

/** A shallow copy of a bag, frozen. Never throws. */
export function frozenEntries(bag: object): Readonly<Record<string, unknown>> {
  const record: Record<string, unknown> = {};
  addEntries(record, bag);
  return Object.freeze(record);
}

/** Copies own entries one by one. Never throws, and sets no prototype. */
export function addEntries(target: object, entries: object): void {
  for (const key of keysOf(entries)) setOwn(target, key, read(entries, key));
}

function keysOf(entries: object): readonly string[] {
  try {
    return Object.keys(entries);
  } catch {
    return []; // as above
  }
}

function read(owner: object, key: PropertyKey): unknown {
  try {
    return Reflect.get(owner, key);
  } catch {
    return UNREADABLE; // a getter of somebody's that throws
  }
}

/** Sets an own property, also when it is called `__proto__`. */
export function setOwn(target: object, key: PropertyKey, value: unknown): void {
  if (key === "__proto__") Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  else Reflect.set(target, key, value); // an assignment would throw where a person has frozen the bag
}

export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A result is plain data with a `toJSON` out of sight, which a copy would lose. */
function hasHiddenMethods(value: object): boolean {
  return Object.hasOwn(value, "toJSON") && !Object.prototype.propertyIsEnumerable.call(value, "toJSON");
}
