import { expect, test } from "vitest";
import { Bag, type InBag } from "../../src/support/bag.js";

class Thing implements InBag {
  place = -1;
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

function filled(...names: string[]) {
  const bag = new Bag<Thing>();
  const things = names.map((name) => new Thing(name));
  for (const thing of things) bag.add(thing);
  const namesIn = (): string[] => [...bag].map(({ name }) => name).toSorted();
  return { bag, things, namesIn };
}

test("a bag gives up any of its things, whichever went before it", () => {
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 0, 2],
    [1, 2, 0],
  ]) {
    const { bag, things, namesIn } = filled("a", "b", "c");
    const left = new Set(["a", "b", "c"]);
    for (const at of order) {
      const thing = things[at] as Thing; // there are three
      bag.delete(thing);
      left.delete(thing.name);
      expect(namesIn()).toEqual([...left].toSorted());
      expect(bag.size).toBe(left.size);
    }
  }
});

test("a thing that is not in a bag is not taken out of it, nor anything in its place", () => {
  const { bag, things, namesIn } = filled("a", "b");
  const [a] = things as [Thing]; // there are two
  bag.delete(a);
  bag.delete(a);
  bag.delete(new Thing("c"));
  bag.delete(Object.assign(new Thing("d"), { place: 0 }));
  expect(namesIn()).toEqual(["b"]);
});

test("things may go while they are looked at one by one", () => {
  const { bag } = filled("a", "b", "c");
  const seen: string[] = [];
  for (const thing of bag) {
    seen.push(thing.name);
    bag.delete(thing);
  }
  expect(seen).toEqual(["a", "b", "c"]);
  expect(bag.size).toBe(0);
});
