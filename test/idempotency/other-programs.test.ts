import { describe, expect, test } from "vitest";
import { z } from "zod";
import { recordEvents } from "../support/builders.js";
import { chargeTask, INPUT, KEY } from "./charge.js";
import { KEY as REPORT_KEY, reportTask } from "./outputs.js";
import { onEachStore } from "./world.js";

/** How a Ruby process reads a slot: the first word is the state, and whatever is there is held. */
function rubyState(raw: string | undefined): string | undefined {
  return raw?.split(" ")[0];
}

onEachStore((world) => {
  describe("a slot that a Ruby process has written", () => {
    test.each(["processing", "completed"])("as the plain word %s makes a duplicate of that state, and stays as it is", async (word) => {
      await world.put(KEY, word, 60_000);
      const { ChargeCustomer, seen } = chargeTask();

      const result = await ChargeCustomer.execute(INPUT);

      expect(result).toMatchObject({ status: "skipped", metadata: { code: "duplicate", idempotencyKey: KEY, state: word } });
      expect(result.reason).toContain(`state=${word}`);
      expect(result.metadata).not.toHaveProperty("firstRunId");
      expect(seen.works).toBe(0);
      expect(await world.raw(KEY)).toBe(word);
    });

    test("is never taken for our own, whoever asks", async () => {
      const events = recordEvents("idempotency_claimed");
      await world.put(KEY, "processing", 60_000);
      const { ChargeCustomer } = chargeTask();

      for (let run = 0; run < 5; run += 1) await ChargeCustomer.execute(INPUT);

      expect(events).toEqual([]);
    });

    test("and that is completed while we wait for it ends the wait", async () => {
      await world.put(KEY, "processing", 60_000);
      const { ChargeCustomer, seen } = chargeTask({ onDuplicate: { processing: "wait" } });
      const run = ChargeCustomer.execute(INPUT);
      await world.pass(1_000);
      await world.put(KEY, "completed", 60_000);
      await world.pass(2_000);

      expect(await run).toMatchObject({ status: "skipped", metadata: { state: "completed" } });
      expect(seen.works).toBe(0);
    });

    test("and completed has no output to replay: the duplicate is skipped", async () => {
      await world.put(REPORT_KEY, "completed", 60_000);
      const { Report, seen } = reportTask(z.object({ n: z.number() }), () => ({ n: 1 }));

      expect(await Report.execute()).toMatchObject({ status: "skipped", metadata: { state: "completed" } });
      expect(seen.works).toBe(0);
    });
  });

  describe("a slot that we have written", () => {
    test("is read rightly by the first word, whatever follows it", async () => {
      let during: string | undefined;
      const { Report } = reportTask(
        z.object({ n: z.number() }),
        async () => {
          during = await world.raw(REPORT_KEY);
          return { n: 1 };
        },
        { fingerprint: true },
      );

      await Report.execute();

      expect(rubyState(during)).toBe("processing");
      expect(rubyState(await world.raw(REPORT_KEY))).toBe("completed");
    });

    test("is one line of text, so that every client can show it", async () => {
      const { Report } = reportTask(z.object({ t: z.string() }), () => ({ t: "two\nlines" }), { fingerprint: true });

      await Report.execute();

      expect(await world.raw(REPORT_KEY)).not.toMatch(/[\n\r]/);
    });
  });

  test.each([
    ["a word that nobody knows", "finished", "completed"],
    ["a word with more behind it", "completed at=12:00", "completed"],
    ["an owner in another form", "processing:abc-123", "completed"],
    ["a word of ours with words of others", "processing by=worker-7", "processing"],
    ["broken JSON", 'processing {"fingerprint":', "processing"],
    ["JSON that is no object", "processing [1,2]", "processing"],
    ["JSON with fields of other types", 'processing {"run":5,"fingerprint":null}', "processing"],
    ["JSON that names a prototype", 'completed {"__proto__":{"output":"[1]"}}', "completed"],
  ])("%s holds the key: work does not run", async (_name, text, state) => {
    await world.put(KEY, text, 60_000);
    const { ChargeCustomer, seen } = chargeTask({ fingerprint: true });

    expect(await ChargeCustomer.execute(INPUT)).toMatchObject({ status: "skipped", metadata: { code: "duplicate", state } });
    expect(seen.works).toBe(0);
    expect(await world.raw(KEY)).toBe(text);
  });
});
