import type { Store } from "../../stores/store.js";
import { systemClock } from "../../support/clock.js";
import type { ManualClock } from "../manual-clock.js";
import { claimCases } from "./claim-cases.js";
import { Bench, equalByAssert, type ContractCase } from "./contract-case.js";
import { countCases } from "./count-cases.js";
import { entriesCases } from "./entries-cases.js";
import { expiryCases } from "./expiry-cases.js";
import { fenceCases } from "./fence-cases.js";
import { holderCases } from "./holder-cases.js";
import { valueCases } from "./value-cases.js";

const cases: readonly ContractCase[] = [
  ...claimCases,
  ...holderCases,
  ...expiryCases,
  ...fenceCases,
  ...valueCases,
  ...entriesCases,
  ...countCases,
];

/** A store under test. */
export interface StoreUnderTest {
  /** Gives a store, for each case anew. Stores on one server may share it: every case has keys of its own. */
  readonly createStore: () => Store | Promise<Store>;
  /** Gives another store on the same data, over a connection of its own. Leave it out for stores that share nothing. */
  readonly createPeer?: () => Store | Promise<Store>;
  /** The clock that the store reads, to be moved by hand. Then ends of lives are tested to the millisecond. */
  readonly clock?: ManualClock;
  /**
   * Lets time pass for the store, where it does not read `clock`. Little is asked for: 25 ms at a time.
   *
   * @default waits in earnest
   */
  readonly advance?: (ms: number) => void | Promise<void>;
  /** Does the store count, for rate limits? Then its `count` is tested as well. @default false */
  readonly counts?: boolean;
  /** The end of a store that `createStore` or `createPeer` gave. */
  readonly disposeStore?: (store: Store) => void | Promise<void>;
}

export interface StoreContractOptions extends StoreUnderTest {
  /** @default "keeps the contract of a store" */
  readonly name?: string;
  /** The runner's own; as globals they need not be given. */
  readonly describe?: (name: string, body: () => void) => unknown;
  readonly it?: (name: string, body: () => Promise<void>) => unknown;
  /** Compares through the runner, for its messages. @default node:assert */
  readonly expect?: (actual: unknown) => { toStrictEqual(expected: unknown): unknown };
}

/** A promise that a store broke. */
export interface ContractFailure {
  /** The promise, in the words of the test. */
  readonly name: string;
  readonly error: unknown;
}

/**
 * Registers the tests that every store must pass, with any runner that has `describe` and `it`.
 *
 * ```ts
 * storeContract({ describe, it, createStore: () => new PostgresStore(pool) });
 * ```
 */
export function storeContract(options: StoreContractOptions): void {
  const { name = "keeps the contract of a store", describe = fromRunner("describe"), it = fromRunner("it"), expect } = options;
  const equal: typeof equalByAssert = expect === undefined ? equalByAssert : (actual, expected) => expect(actual).toStrictEqual(expected);
  describe(name, () => {
    for (const contractCase of casesFor(options)) it(contractCase.name, () => runCase(contractCase, options, equal));
  });
}

/** Puts a store to the same tests without a runner, and tells which it failed. */
export async function checkStore(store: StoreUnderTest): Promise<readonly ContractFailure[]> {
  const failures: ContractFailure[] = [];
  for (const contractCase of casesFor(store)) {
    try {
      await runCase(contractCase, store, equalByAssert);
    } catch (error) {
      failures.push({ name: contractCase.name, error });
    }
  }
  return failures;
}

function casesFor({ createPeer, clock, counts = false }: StoreUnderTest): readonly ContractCase[] {
  const has = { peer: createPeer !== undefined, clock: clock !== undefined, count: counts };
  return cases.filter(({ needs }) => needs === undefined || has[needs]);
}

async function runCase(contractCase: ContractCase, under: StoreUnderTest, equal: typeof equalByAssert): Promise<void> {
  const made: Store[] = [];
  const make = async (create: () => Store | Promise<Store>): Promise<Store> => {
    const store = await create();
    made.push(store);
    return store;
  };
  const store = await make(under.createStore);
  const peer = under.createPeer === undefined ? store : await make(under.createPeer);
  try {
    await contractCase.run(new Bench({ store, peer, advance: passing(under), restart: () => make(under.createStore), equal }));
  } finally {
    for (const each of made) await under.disposeStore?.(each);
  }
}

/** How much more than asked for is waited: timers and clocks of servers are not of one mind about a millisecond. */
const SLACK_MS = 3;

function passing({ clock, advance }: StoreUnderTest): (ms: number) => Promise<void> {
  if (clock !== undefined) return (ms) => clock.advance(ms);
  if (advance !== undefined) return async (ms) => advance(ms);
  return (ms) => new Promise((resolve) => systemClock.timer(ms + SLACK_MS, resolve));
}

function fromRunner<Name extends "describe" | "it">(name: Name): NonNullable<StoreContractOptions[Name]> {
  const found: unknown = Reflect.get(globalThis, name);
  if (typeof found === "function") return found as NonNullable<StoreContractOptions[Name]>; // the runner's global, by its usual shape
  throw new Error(`storeContract() found no global ${name}. Pass it in: storeContract({ describe, it, … }).`);
}
