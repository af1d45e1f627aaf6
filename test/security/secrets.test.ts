import { inspect } from "node:util";
import { afterEach, expect, test } from "vitest";
import { configure, idempotentBy, resetConfiguration, settings, Task, type TelemetryEvent } from "taskwright";
import { z } from "zod";
import { memoryLogger, recordEvents } from "../support/builders.js";

afterEach(() => {
  resetConfiguration();
});

const SECRET = "4111-1111-1111-1111";

class CardError extends Error {}

/** A task that handles a secret in all its parts, in all ways in which it may end. */
class Charge extends Task.with({
  input: z.object({ paymentId: z.string(), card: z.string().max(30), how: z.enum(["success", "skip", "fail", "throw", "output"]) }),
  output: z.object({ token: z.string() }),
}) {
  work(): { token: string } {
    if (this.input.how === "skip") this.skip("nothing to do");
    if (this.input.how === "fail") this.fail("declined");
    if (this.input.how === "throw") throw new CardError("declined");
    if (this.input.how === "output") return { token: 5, card: SECRET } as unknown as { token: string }; // wrong on purpose
    return { token: SECRET };
  }
}

/** An event as the tools print it that people send events to: everything but the result, which is theirs to handle. */
const printed = ({ payload, ...event }: TelemetryEvent): string => {
  const { result: _result, ...rest } = payload as { result?: unknown };
  return `${JSON.stringify({ ...event, payload: rest })} ${inspect(rest, { depth: 9 })}`;
};

test.each(["success", "skip", "fail", "throw", "output"] as const)(
  "a run that ends by %s tells its secrets to nobody unasked",
  async (how) => {
    const { logger, lines } = memoryLogger();
    const events = recordEvents();
    class Logged extends Charge {}
    settings({ logger })(Logged);
    idempotentBy("paymentId", { onDuplicate: "replay", fingerprint: true })(Logged);
    const input = { paymentId: "pay_1", card: SECRET, how };
    const results = [await Logged.execute(input, { context: { session: SECRET } }), await Logged.execute(input)];

    for (const line of lines) expect(JSON.stringify(line) + inspect(line, { depth: 9 })).not.toContain(SECRET);
    for (const event of events) expect(printed(event), event.name).not.toContain(SECRET);
    for (const result of results) expect(JSON.stringify(result)).not.toContain(SECRET);
  },
);

test("an input that does not fit is told by its fields, not by its values", async () => {
  const { logger, lines } = memoryLogger();
  class Logged extends Charge {}
  settings({ logger })(Logged);
  const events = recordEvents();
  const result = await Logged.execute({ paymentId: "pay_1", card: SECRET.repeat(4), how: "success" });

  expect(result).toMatchObject({ status: "failed", metadata: { code: "invalid_input" } });
  for (const text of [JSON.stringify(lines), JSON.stringify(result), String(result.reason), ...events.map(printed)])
    expect(text).not.toContain(SECRET);
});

test("a mistake in an option is told without the object that was given", () => {
  const options = { ttl: { secret: SECRET } } as unknown as { ttl: number }; // wrong on purpose
  expect(() => idempotentBy("paymentId", options)).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining(SECRET) }) as Error,
  );
  expect(() => configure((config) => Reflect.set(config, "store", { password: SECRET }))).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining(SECRET) }) as Error,
  );
});
