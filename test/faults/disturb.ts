import { expect } from "vitest";
import { quietClient } from "../scenarios/fixtures/stores.js";
import { startRedis } from "../support/redis.js";
import { readAccount, summary, type Account } from "./account.js";
import { Crew, LIMIT, type WorkerSettings } from "./crew.js";

export interface Disturbed {
  readonly account: Account;
  /** Calls of the store that failed, by operation. */
  readonly storeErrors: Readonly<Record<string, number>>;
}

/** Has a crew at work on a store while it is disturbed, and reads the ledger when all have ended by themselves. The ledger's server is nobody else's. */
export async function disturb(
  what: string,
  { size = 2, ...settings }: Partial<WorkerSettings> & Pick<WorkerSettings, "ports" | "seed"> & { readonly size?: number },
  disturbance: (crew: Crew) => Promise<void>,
): Promise<Disturbed> {
  const ledger = await startRedis();
  try {
    const crew = await Crew.start(size, { ...settings, ledgerPort: ledger.port });
    await disturbance(crew);
    const storeErrors = await crew.stop();
    const account = await readAccount(ledger.port);
    console.log(`${what} (seed ${settings.seed}): ${summary(account)}; calls of the store that failed: ${JSON.stringify(storeErrors)}`);
    return { account, storeErrors };
  } finally {
    await ledger.stop();
  }
}

/** What is promised on a store that forgets nothing, whatever else happens to it. */
export function expectKept({ overlaps, repeats, untrue, sent }: Account): void {
  expect(overlaps).toEqual([]);
  expect(repeats).toEqual([]);
  expect(untrue).toEqual([]);
  expect(sent).toBeLessThanOrEqual(LIMIT);
}

/** No run was told that it lost its claim, or that another may have done its work, unless its lease ran out before it could be renewed. */
export function expectNobodyRobbed({ runs }: Account): void {
  expect(runs.filter(({ lost }) => lost === "refused")).toEqual([]);
  expect(runs.filter(({ answer, lost }) => answer?.superseded === true && lost === undefined)).toEqual([]);
}

/** A client for the test's own commands, for as long as the body takes. */
export async function commanding<T>(port: number, body: (client: ReturnType<typeof quietClient>) => Promise<T>): Promise<T> {
  const client = quietClient(port);
  try {
    return await body(client);
  } finally {
    client.disconnect();
  }
}

/** Claims and locks that are held, by whomever. */
export async function heldKeys(port: number): Promise<string[]> {
  return commanding(port, async (client) => {
    const keys = await client.keys("cmdx:*");
    const values = keys.length === 0 ? [] : await client.mget(keys);
    return keys.filter((_, at) => values[at]?.includes("owner=") === true);
  });
}
