/**
 * A frozen copy of what a person noted: plain objects and arrays are copied all the way down, so that the owner's data
 * is left as it is; everything else (dates, errors, instances) is kept by reference.
 */
export function frozenCopy<T>(value: T): T {
  return copy(value, new Map()) as T; // copies keep the shape of what they copy
}

function copy(value: unknown, seen: Map<object, unknown>): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value) && !isPlain(value)) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    seen.set(value, items);
    for (const item of value) items.push(copy(item, seen));
    return Object.freeze(items);
  }
  const record: Record<PropertyKey, unknown> = {};
  seen.set(value, record);
  for (const key of Reflect.ownKeys(value)) {
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    if (descriptor?.enumerable === true) setOwn(record, key, copy(Reflect.get(value, key), seen));
  }
  return Object.freeze(record);
}

/** Sets an own property, also when it is called `__proto__`. */
export function setOwn(target: object, key: PropertyKey, value: unknown): void {
  if (key === "__proto__") Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  else Reflect.set(target, key, value);
}

export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
