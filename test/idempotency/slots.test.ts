import { describe, expect, test } from "vitest";
import { DefinitionError, keyFor, releaseSlot, slots, type SlotInfo, type SlotsOptions } from "taskwright";
import { PausePoint } from "../support/builders.js";
import { chargeTask, INPUT, KEY } from "./charge.js";
import { onEachStore } from "./world.js";

onEachStore((world) => {
  async function all(options: SlotsOptions = {}): Promise<SlotInfo[]> {
    const found: SlotInfo[] = [];
    for await (const slot of slots(world.store, options)) found.push(slot);
    return found.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** One run at work, and one that has succeeded. */
  async function oneOfEach() {
    const pause = new PausePoint();
    const { ChargeCustomer } = chargeTask(
      { ttl: 600, lease: 60, fingerprint: true },
      { work: (task) => (task.input.paymentId === "pay_123" ? pause.pass() : undefined) },
    );
    const run = ChargeCustomer.execute(INPUT);
    await pause.reached;
    await world.pass(1_000);
    const done = await ChargeCustomer.execute({ paymentId: "pay_124" });
    return { ChargeCustomer, run, pause, done };
  }

  describe("slots()", () => {
    test("shows what is held and what was completed: by whom, since when and for how long", async () => {
      const { run, pause, done } = await oneOfEach();

      const [held, completed] = await all();

      pause.resume();
      const { runId } = await run;
      expect(held).toEqual({ key: KEY, state: "processing", owner: runId, runId, ageMs: 1_000, expiresInMs: expect.any(Number) });
      expect(held?.expiresInMs).toBeLessThanOrEqual(59_000);
      expect(completed).toEqual({
        key: "cmdx:idem:ChargeCustomer:pay_124",
        state: "completed",
        owner: undefined,
        runId: done.runId,
        ageMs: 0,
        expiresInMs: expect.any(Number),
      });
    });

    test("keeps to a state, a task, an age and a namespace", async () => {
      const { ChargeCustomer, run, pause } = await oneOfEach();
      await world.put("other:Task:k", "completed", 60_000);
      await world.put("cmdx:idem:ChargeCustomerElsewhere:k", "completed", 60_000);
      const keys = async (options: SlotsOptions): Promise<string[]> => (await all(options)).map(({ key }) => key);
      const [held, completed] = [KEY, "cmdx:idem:ChargeCustomer:pay_124"];

      expect(await keys({ state: "processing" })).toEqual([held]);
      expect(await keys({ state: "completed", task: "ChargeCustomer" })).toEqual([completed]);
      expect(await keys({ task: ChargeCustomer })).toEqual([held, completed]);
      expect(await keys({ olderThan: "500ms" })).toEqual([held]);
      expect(await keys({ olderThan: 5 })).toEqual([]);
      expect(await keys({ namespace: "other" })).toEqual(["other:Task:k"]);
      pause.resume();
      await run;
    });

    test("comes through many pages", async () => {
      for (let at = 0; at < 250; at += 1) await world.put(`cmdx:idem:Many:${at}`, "completed", 60_000);

      expect(new Set((await all({ task: "Many" })).map(({ key }) => key)).size).toBe(250);
    });

    test("reads slots of other programs", async () => {
      await world.put("cmdx:idem:Ruby:1", "processing", 60_000);

      expect(await all()).toEqual([
        {
          key: "cmdx:idem:Ruby:1",
          state: "processing",
          owner: undefined,
          runId: undefined,
          ageMs: undefined,
          expiresInMs: expect.any(Number),
        },
      ]);
    });

    test.each([
      [{ stat: "processing" }, '"stat"'],
      [{ state: "done" }, 'must be one of "processing", "completed"'],
      [{ olderThan: 0 }, "olderThan"],
    ])("refuses %j", async (options, told) => {
      await expect(all(options as SlotsOptions)).rejects.toThrow(told);
    });
  });

  describe("releaseSlot()", () => {
    test("frees what that owner still holds, and the run learns that it was superseded", async () => {
      const { ChargeCustomer, run, pause } = await oneOfEach();
      const [held] = await all({ state: "processing" });

      expect(await releaseSlot(KEY, { owner: held?.owner ?? "", store: world.store })).toBe(true);

      expect(await world.raw(KEY)).toBeUndefined();
      pause.resume();
      expect(await run).toMatchObject({ status: "success", metadata: { superseded: true } });
      expect(await ChargeCustomer.execute(INPUT)).toHaveProperty("status", "success");
    });

    test("refuses when the owner has changed, when the slot was completed, and when there is none", async () => {
      await world.put(KEY, "processing owner=second", 60_000);
      expect(await releaseSlot(KEY, { owner: "first", store: world.store })).toBe(false);
      expect(await world.raw(KEY)).toBe("processing owner=second");
      await world.put(KEY, "completed", 60_000);
      expect(await releaseSlot(KEY, { owner: "second", store: world.store })).toBe(false);
      expect(await world.raw(KEY)).toBe("completed");
      expect(await releaseSlot("cmdx:idem:None:k", { owner: "first", store: world.store })).toBe(false);
    });

    test("goes to the configured store, if none is named", async () => {
      const { ChargeCustomer } = chargeTask();
      await world.put(await keyOf(ChargeCustomer), "processing owner=dead", 60_000);

      expect(await releaseSlot(KEY, { owner: "dead" })).toBe(true);
    });

    test.each([
      ["", "x"],
      [KEY, ""],
      [KEY, undefined],
      [undefined, "x"],
    ])("refuses the key %s with the owner %s", async (key, owner) => {
      await expect(releaseSlot(key as string, { owner: owner as string })).rejects.toThrow(DefinitionError);
    });
  });
});

async function keyOf(type: ReturnType<typeof chargeTask>["ChargeCustomer"]): Promise<string> {
  return (await keyFor(type, INPUT)) ?? "";
}
