import { describe, expect, test } from "vitest";
import {
  circuitBreaker,
  circuitOf,
  configure,
  idempotentBy,
  literal,
  RateLimitedError,
  rateLimit,
  retryOn,
  Task,
  type RateLimitOptions,
} from "taskwright";
import { z } from "zod";
import { ofName, recordEvents } from "../support/builders.js";
import { inMemory, onEachStore } from "../idempotency/world.js";

const input = z.object({ tenant: z.string().nullish(), id: z.string().default("1") });
type Sent = { tenant: string | null | undefined; id: string };

/** A task that sends mail, with this limit, and what it has sent. */
function mailer(options: RateLimitOptions) {
  const sent: Sent[] = [];
  class SendMail extends Task.with({ input }) {
    work(): void {
      sent.push({ tenant: this.input.tenant, id: this.input.id });
    }
  }
  rateLimit(options)(SendMail);
  const codes = async (count: number, tenant?: string): Promise<unknown[]> => {
    const results = [];
    for (let at = 0; at < count; at += 1) results.push(await SendMail.execute({ tenant }));
    return results.map(({ status, metadata }) => metadata.code ?? status);
  };
  return { SendMail, sent, codes };
}

onEachStore((world) => {
  describe("a rate limit", () => {
    test("lets its number of runs through in a window, and refuses the next", async () => {
      const { SendMail, sent, codes } = mailer({ limit: 3, per: 60 });

      expect(await codes(3)).toEqual(["success", "success", "success"]);
      const result = await SendMail.execute({});

      expect(result).toMatchObject({
        status: "failed",
        retryable: true,
        metadata: { code: "rate_limited", rateLimitKey: "cmdx:rate:SendMail:*", limit: 3, retryAfterMs: expect.any(Number) },
      });
      expect(result.status === "failed" && result.error).toBeInstanceOf(RateLimitedError);
      expect(result.metadata["retryAfterMs"]).toBeGreaterThan(59_000);
      expect(result.metadata["retryAfterMs"]).toBeLessThanOrEqual(60_000);
      expect(sent).toHaveLength(3);
    });

    test("counts each key apart", async () => {
      const { codes } = mailer({ limit: 1, per: 60, by: "tenant" });

      expect(await codes(2, "a")).toEqual(["success", "rate_limited"]);
      expect(await codes(2, "b")).toEqual(["success", "rate_limited"]);
      expect(await world.raw("cmdx:rate:SendMail:a")).toBe("2");
    });

    test("begins anew when the window is over, which refused runs do not put off", async () => {
      const { codes } = mailer({ limit: 2, per: 10 });
      await codes(2);

      await world.pass(9_000);
      expect(await codes(5)).toEqual(Array.from({ length: 5 }, () => "rate_limited"));
      await world.pass(1_001);

      expect(await codes(3)).toEqual(["success", "success", "rate_limited"]);
    });

    test("has windows shorter than a second", async () => {
      const { SendMail, codes } = mailer({ limit: 1, per: "250ms" });

      expect(await codes(1)).toEqual(["success"]);
      const { metadata } = await SendMail.execute({});
      expect(metadata["retryAfterMs"]).toBeLessThanOrEqual(250);
      await world.pass(251);

      expect(await codes(1)).toEqual(["success"]);
    });

    test("lets exactly its number of many runs through that come at once", async () => {
      const { SendMail, sent } = mailer({ limit: 7, per: 60, by: "tenant" });

      const results = await Promise.all(Array.from({ length: 60 }, () => SendMail.execute({ tenant: "a" })));

      expect(results.filter(({ status }) => status === "success")).toHaveLength(7);
      expect(results.filter(({ metadata }) => metadata.code === "rate_limited")).toHaveLength(53);
      expect(sent).toHaveLength(7);
    });

    test("is shared by classes of one scope, whatever their limits", async () => {
      class Charge extends Task.with() {
        work(): void {}
      }
      class Refund extends Task.with() {
        work(): void {}
      }
      rateLimit({ limit: 4, per: 60, scope: "bank" })(Charge);
      rateLimit({ limit: 3, per: 60, scope: "bank" })(Refund);

      await Charge.execute();
      await Refund.execute();
      await Refund.execute();

      expect(await Refund.execute()).toMatchObject({ metadata: { rateLimitKey: "cmdx:rate:bank:*", limit: 3 } });
      expect(await Charge.execute()).toMatchObject({ metadata: { code: "rate_limited", limit: 4 } });
    });

    test("fails a run whose count stands where something else was written", async () => {
      const { codes } = mailer({ limit: 1, per: 60 });
      await world.put("cmdx:rate:SendMail:*", "completed", 60_000);

      expect(await codes(1)).toEqual(["store_unavailable"]);
      expect(await world.raw("cmdx:rate:SendMail:*")).toBe("completed");
    });
  });
});

inMemory((world) => {
  describe("the window", () => {
    test("ends at its very millisecond", async () => {
      const { SendMail, codes } = mailer({ limit: 1, per: 10 });
      await codes(1);

      await world.clock.advance(9_999);
      expect((await SendMail.execute({})).metadata).toMatchObject({ code: "rate_limited", retryAfterMs: 1 });
      await world.clock.advance(1);

      expect(await codes(1)).toEqual(["success"]);
    });

    test("does not follow the wall clock when it jumps", async () => {
      const { codes } = mailer({ limit: 1, per: 10 });
      await codes(1);

      world.clock.jump(3_600_000);

      expect(await codes(1)).toEqual(["rate_limited"]);
    });

    test("may be longer than a timer can be", async () => {
      const { codes } = mailer({ limit: 1, per: "30d" });
      await codes(1);

      expect(await codes(1)).toEqual(["rate_limited"]);
      await world.clock.advance(30 * 86_400_000);

      expect(await codes(1)).toEqual(["success"]);
    });
  });

  describe("the key", () => {
    test.each<[string, NonNullable<RateLimitOptions["by"]> | null, string]>([
      ["a field", "tenant", "a"],
      ["fields", ["tenant", "id"], "a:1"],
      ["a literal", literal("all of them"), "all of them"],
      ["a function", (task) => (task as unknown as { input: Sent }).input.id, "1"],
      ["a function that answers later", async () => ["x:y", 7], "x%3Ay:7"],
      ["an object with call", { call: () => 5n }, "5"],
      ["nothing", null, "*"],
    ])("is made of %s", async (_, by, segment) => {
      const { SendMail } = mailer({ limit: 1, per: 60, by, namespace: "mail" });

      await SendMail.execute({ tenant: "a" });

      expect(world.store.calls).toEqual([{ operation: "count", key: `mail:SendMail:${segment}`, options: { ttlMs: 60_000 } }]);
    });

    test.each([undefined, null, "", "  "])("that is blank (%o) has the run go on uncounted", async (tenant) => {
      const events = recordEvents("rate_limit_bypassed");
      const { SendMail } = mailer({ limit: 1, per: 60, by: "tenant" });

      for (let at = 0; at < 3; at += 1) expect(await SendMail.execute({ tenant })).toMatchObject({ status: "success" });

      expect(world.store.calls).toEqual([]);
      expect(events.map(({ payload }) => payload)).toEqual(Array.from({ length: 3 }, () => ({ why: "missing_key" })));
    });

    test("that is blank refuses the run where a key is demanded", async () => {
      const { sent, codes } = mailer({ limit: 1, per: 60, by: "tenant", onMissingKey: "fail" });

      expect(await codes(1)).toEqual(["missing_key"]);
      expect(sent).toEqual([]);
    });

    test("that is no key fails the run for good", async () => {
      const { SendMail, sent } = mailer({ limit: 1, per: 60, by: () => Number.NaN });

      expect(await SendMail.execute({})).toMatchObject({ status: "failed", retryable: false, reason: expect.stringContaining("got NaN") });
      expect(sent).toEqual([]);
    });

    test("whose resolver throws or halts decides the run, with nothing counted", async () => {
      const throwing = mailer({
        limit: 1,
        per: 60,
        by: () => {
          throw new Error("no directory");
        },
      });
      expect(await throwing.SendMail.execute({})).toMatchObject({ status: "failed", reason: "no directory", retryable: true });
      class Skipping extends Task.with() {
        work(): void {}
      }
      rateLimit({ limit: 1, per: 60, by: (task) => task.skip("not today") })(Skipping);
      expect(await Skipping.execute()).toMatchObject({ status: "skipped", reason: "not today" });
      expect(world.store.calls).toEqual([]);
    });

    test("has nothing to do with the idempotency key of a call", async () => {
      const { SendMail } = mailer({ limit: 1, per: 60 });
      idempotentBy("id")(SendMail);

      await SendMail.execute({}, { idempotencyKey: "a" });

      expect(await SendMail.execute({}, { idempotencyKey: "b" })).toMatchObject({ metadata: { code: "rate_limited" } });
    });
  });

  describe("a refused run", () => {
    test("comes to no circuit, lock, slot, work or rollback, and is told in this order", async () => {
      let rollbacks = 0;
      class Charge extends Task.with() {
        work(): void {}
        override rollback(): void {
          rollbacks += 1;
        }
      }
      idempotentBy(literal("once"))(Charge);
      circuitBreaker({ threshold: 1 })(Charge);
      retryOn(Error, { delay: 0 })(Charge);
      rateLimit({ limit: 1, per: 60 })(Charge);
      await Charge.execute();
      world.store.calls.length = 0;
      const events = recordEvents();

      expect(await Charge.execute()).toMatchObject({ status: "failed", retries: 0, rolledBack: false });

      expect(events.map(({ name }) => name)).toEqual(["task_started", "rate_limited", "task_executed"]);
      expect(ofName(events, "rate_limited")[0]?.payload).toEqual({
        code: "rate_limited",
        rateLimitKey: "cmdx:rate:Charge:*",
        limit: 1,
        retryAfterMs: 60_000,
      });
      expect(world.store.calls.map(({ operation }) => operation)).toEqual(["count"]);
      expect(circuitOf(Charge)?.state).toBe("closed");
      expect(rollbacks).toBe(0);
    });

    test("says so in words", async () => {
      const { SendMail, codes } = mailer({ limit: 2, per: 60 });
      await codes(2);

      expect((await SendMail.execute({})).reason).toBe(
        "SendMail did not run: cmdx:rate:SendMail:* has used up its 2 runs for another 60000 ms",
      );
    });

    test("was counted once for all of its attempts, and so is one that is retried", async () => {
      class Flaky extends Task.with() {
        work(): void {
          throw new Error("flaky");
        }
      }
      retryOn(Error, { limit: 5, delay: 0 })(Flaky);
      rateLimit({ limit: 2, per: 60 })(Flaky);

      const reasons = [(await Flaky.execute()).reason, (await Flaky.execute()).reason];

      expect(reasons).toEqual(["flaky", "flaky"]);
      expect(await Flaky.execute()).toMatchObject({ metadata: { code: "rate_limited" } });
    });

    test("is not one with an input that does not fit: it is refused before, and not counted", async () => {
      const { SendMail, codes } = mailer({ limit: 1, per: 60 });

      expect(await SendMail.execute({ tenant: 5 as unknown as string })).toMatchObject({ metadata: { code: "invalid_input" } });

      expect(await codes(1)).toEqual(["success"]);
    });

    test("counts for nothing in the circuit of a run around it, unless that one fails by it", async () => {
      const { SendMail, codes } = mailer({ limit: 1, per: 60 });
      await codes(1);
      class Outer extends Task.with() {
        async work(): Promise<string> {
          return (await SendMail.execute({})).status;
        }
      }
      circuitBreaker({ threshold: 1 })(Outer);

      expect(await Outer.execute()).toMatchObject({ status: "success", output: "failed" });
      expect(circuitOf(Outer)?.state).toBe("closed");
    });
  });

  describe("runs inside runs", () => {
    test("are counted like any others", async () => {
      const depths: number[] = [];
      class Walk extends Task.with({ input: z.object({ depth: z.number() }) }) {
        async work(): Promise<string> {
          depths.push(this.input.depth);
          const { metadata, status } = await Walk.execute({ depth: this.input.depth + 1 });
          return metadata.code ?? status;
        }
      }
      rateLimit({ limit: 3, per: 60 })(Walk);

      expect(await Walk.execute({ depth: 0 })).toMatchObject({ status: "success" });
      expect(depths).toEqual([0, 1, 2]);
    });
  });

  describe("a run that is called off", () => {
    test("while it is counted answers at once", async () => {
      const { SendMail, sent } = mailer({ limit: 1, per: 60 });
      const late = world.store.disturb("count", "delay");
      const controller = new AbortController();

      const running = SendMail.execute({}, { signal: controller.signal });
      await late.met;
      controller.abort();

      expect(await running).toMatchObject({ status: "failed", metadata: { code: "aborted" } });
      late.release();
      await world.clock.advance(60_000);
      expect(sent).toEqual([]);
    });

    test("before it began is not counted", async () => {
      const { SendMail } = mailer({ limit: 1, per: 60 });

      expect(await SendMail.execute({}, { signal: AbortSignal.abort() })).toMatchObject({ metadata: { code: "aborted" } });

      expect(world.store.calls).toEqual([]);
    });
  });

  test("a limit has no timer for each key, and gives the memory of its windows back", async () => {
    const { SendMail } = mailer({ limit: 1, per: 1, by: "tenant" });
    for (let at = 0; at < 500; at += 1) await SendMail.execute({ tenant: `t${at}` });
    expect(world.clock.pending).toBeLessThanOrEqual(2); // the store's sweep, and the time limit of its calls

    await world.clock.advance(40_000);

    expect(world.clock.pending).toBe(0);
    expect((await world.store.entries({ prefix: "cmdx:rate:" })).entries).toEqual([]);
  });

  test("the embedded store counts where none is configured", async () => {
    configure((config) => {
      config.store = undefined;
    });
    const { codes } = mailer({ limit: 1, per: 60 });

    expect(await codes(2)).toEqual(["success", "rate_limited"]);
  });
});
