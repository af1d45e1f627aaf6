/** What a bag holds. Each thing knows its place in it, so that none is ever searched for. */
export interface InBag {
  /** @internal */
  place: number;
}

/** Things in no order, which come and go quickly. A `Set` would hash each, and makes itself anew every few goings. */
export class Bag<T extends InBag> implements Iterable<T> {
  readonly #things: T[] = [];

  get size(): number {
    return this.#things.length;
  }

  add(thing: T): void {
    thing.place = this.#things.length;
    this.#things.push(thing);
  }

  /** Takes it out, if it is in. The last one moves into its place. */
  delete(thing: T): void {
    if (this.#things[thing.place] !== thing) return;
    const last = this.#things.pop();
    if (last === undefined || last === thing) return;
    last.place = thing.place;
    this.#things[thing.place] = last;
  }

  clear(): void {
    this.#things.length = 0;
  }

  [Symbol.iterator](): Iterator<T> {
    return [...this.#things][Symbol.iterator](); // those that go while others are looked at are no hindrance
  }
}
