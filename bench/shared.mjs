/**
 * Something that several rows need: opened by the first that asks, closed by the first that is done. `hooks` are for the rows,
 * `it` is the thing itself.
 */
export function shared(make) {
  const holder = {
    it: undefined,
    hooks: {
      async open() {
        holder.it ??= await make();
      },
      async close() {
        const { it } = holder;
        holder.it = undefined;
        await it?.close?.();
      },
    },
  };
  return holder;
}
