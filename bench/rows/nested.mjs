/** Runs inside runs. The figures are for one run of the chain. */
import { charge, GIVEN } from "../charge.mjs";

/** @param {typeof import("../../dist/index.js")} library */
export function rows({ Task }) {
  const chain = (depth) => {
    const Inner = depth === 0 ? undefined : chain(depth - 1);
    return class Step extends Task.with() {
      async work() {
        return Inner === undefined ? charge(GIVEN) : Inner.execute();
      }
    };
  };
  return [3, 10].map((depth) => {
    const Outermost = chain(depth);
    return {
      name: `execute, nested to depth ${depth}`,
      floor: `bare calls nested to depth ${depth}`,
      units: depth + 1,
      call: () => Outermost.execute(),
      charges: 1,
      right: ({ status }) => status === "success",
    };
  });
}
