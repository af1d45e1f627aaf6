/** Are two types the very same? Not only assignable to each other: `any`, `readonly` and `?` count. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- two functions of any T are the same only when A and B are
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles for `true` only: `Expect<Equal<typeof result.output, { chargeId: string }>>`. */
export type Expect<Holds extends true> = Holds;
