import { describe, expect, test } from "vitest";
import { MemoryStore, type EntriesOptions, type EntryPage, type SetOptions, type SetResult, type Store, type StoreEntry } from "taskwright";
import { checkStore, ManualClock } from "taskwright/testing";

/** Passes everything on. Each breakage below changes one thing. */
class Passing implements Store {
  readonly inner: Store;

  constructor(inner: Store) {
    this.inner = inner;
  }
  async get(key: string): Promise<StoreEntry | undefined> {
    return this.inner.get(key);
  }
  async set(key: string, value: string, options: SetOptions): Promise<SetResult> {
    return this.inner.set(key, value, options);
  }
  async delete(key: string, options?: { readonly owner?: string }): Promise<boolean> {
    return this.inner.delete(key, options);
  }
  async renew(key: string, options: { readonly owner: string; readonly ttlMs: number }): Promise<boolean> {
    return this.inner.renew(key, options);
  }
  async entries(options: EntriesOptions): Promise<EntryPage> {
    return this.inner.entries(options);
  }
}

/** Swept once a day: the tests go through weeks. */
const memory = (clock: ManualClock): Store => new MemoryStore({ clock, sweepEveryMs: 86_400_000 });

const without = <T extends object, K extends keyof T>(object: T, ...keys: K[]): Omit<T, K> => {
  const copy = { ...object };
  for (const key of keys) delete copy[key];
  return copy;
};

/** A breakage, and a promise of the contract whose test must notice it. */
const breakages: readonly { readonly fault: string; readonly noticed: RegExp; readonly broken: typeof Passing }[] = [
  {
    fault: "completes without asking who holds the key",
    noticed: /completion by somebody else is refused/,
    broken: class extends Passing {
      override set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        return super.set(key, value, options.xx === true ? without(options, "owner") : options);
      }
    },
  },
  {
    fault: "releases without asking who holds the key",
    noticed: /release by somebody else does nothing/,
    broken: class extends Passing {
      override delete(key: string): Promise<boolean> {
        return super.delete(key);
      }
    },
  },
  {
    fault: "renews without asking who holds the key",
    noticed: /renewal by somebody else does not lengthen/,
    broken: class extends Passing {
      override async renew(key: string, options: { readonly owner: string; readonly ttlMs: number }): Promise<boolean> {
        const { owner } = (await this.get(key)) ?? {};
        return super.renew(key, owner === undefined ? options : { ...options, owner });
      }
    },
  },
  {
    fault: "renews what is gone",
    noticed: /renewal of an absent key creates nothing/,
    broken: class extends Passing {
      override async renew(key: string, options: { readonly owner: string; readonly ttlMs: number }): Promise<boolean> {
        await super.set(key, "processing", { nx: true, ...options });
        return super.renew(key, options);
      }
    },
  },
  {
    fault: "lets an entry live a millisecond too long",
    noticed: /claim holds until the last millisecond of its life, and not at its end/,
    broken: class extends Passing {
      override set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        return super.set(key, value, { ...options, ttlMs: options.ttlMs + 1 });
      }
    },
  },
  {
    fault: "lets an entry live a millisecond too short",
    noticed: /claim holds until the last millisecond of its life, and not at its end/,
    broken: class extends Passing {
      override set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        return super.set(key, value, { ...options, ttlMs: options.ttlMs === 1_000 ? 999 : options.ttlMs });
      }
    },
  },
  {
    fault: "refuses a claim for an entry whose time is up",
    noticed: /an entry whose time is up does not stand in the way of a claim/,
    broken: class extends Passing {
      readonly #known = new Set<string>();
      override async set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        if (options.nx === true && this.#known.has(key) && (await this.get(key)) === undefined) return { ok: false, held: undefined };
        this.#known.add(key);
        return super.set(key, value, options);
      }
      override delete(key: string, options?: { readonly owner?: string }): Promise<boolean> {
        this.#known.delete(key);
        return super.delete(key, options);
      }
    },
  },
  {
    fault: "grants a claim on a held key to everybody",
    noticed: /of many claims at once exactly one is granted/,
    broken: class extends Passing {
      override set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        return super.set(key, value, without(options, "nx"));
      }
    },
  },
  {
    fault: "looks first and claims afterwards",
    noticed: /of many claims at once exactly one is granted/,
    broken: class extends Passing {
      override async set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        if (options.nx !== true) return super.set(key, value, options);
        const held = await this.get(key);
        if (held !== undefined && (options.owner === undefined || held.owner !== options.owner)) return { ok: false, held };
        return super.set(key, value, without(options, "nx"));
      }
    },
  },
  {
    fault: "takes a holder that repeats its claim for a stranger",
    noticed: /claim repeated by its holder is granted/,
    broken: class extends Passing {
      override async set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        const held = await this.get(key);
        return options.nx === true && held !== undefined ? { ok: false, held } : super.set(key, value, options);
      }
    },
  },
  {
    fault: "does not tell what a claim lost to",
    noticed: /tells value, owner and life of what it lost to/,
    broken: class extends Passing {
      override async set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        const result = await super.set(key, value, options);
        return result.ok ? result : { ok: false, held: undefined };
      }
    },
  },
  {
    fault: "completes what is gone",
    noticed: /completion of an absent key is refused/,
    broken: class extends Passing {
      override set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        return super.set(key, value, options.xx === true ? without(options, "xx", "owner") : options);
      }
    },
  },
  {
    fault: "leaves the owner on a completed key",
    noticed: /nobody holds it any more/,
    broken: class extends Passing {
      override async set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        const result = await super.set(key, value, options);
        if (result.ok && options.xx === true && options.owner !== undefined) await super.set(key, value, without(options, "xx"));
        return result;
      }
    },
  },
  {
    fault: "keeps the life of the claim when it is completed",
    noticed: /its life counts from now/,
    broken: class extends Passing {
      override async set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        const held = await this.get(key);
        return super.set(key, value, options.xx === true && held !== undefined ? { ...options, ttlMs: held.expiresInMs } : options);
      }
    },
  },
  {
    fault: "counts its fences from one again after a deletion",
    noticed: /fence grows from claim to claim after releases/,
    broken: class extends Passing {
      #fence = 0;
      override async set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        const result = await super.set(key, value, options);
        return result.ok ? { ok: true, fence: (this.#fence += 1) } : result;
      }
      override delete(key: string, options?: { readonly owner?: string }): Promise<boolean> {
        this.#fence = 0;
        return super.delete(key, options);
      }
    },
  },
  {
    fault: "counts its fences from one again after a restart",
    noticed: /fence grows after a restart/,
    broken: class extends Passing {
      #fence = 0;
      override async set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        const result = await super.set(key, value, options);
        return result.ok ? { ok: true, fence: (this.#fence += 1) } : result;
      }
    },
  },
  {
    fault: "cuts long keys",
    noticed: /keys are told apart by their whole length/,
    broken: class extends Passing {
      override set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        return super.set(key.slice(0, 200), value, options);
      }
      override get(key: string): Promise<StoreEntry | undefined> {
        return super.get(key.slice(0, 200));
      }
    },
  },
  {
    fault: "lets long lives end at once, as timers do",
    noticed: /a life longer than a timer can wait does not end early/,
    broken: class extends Passing {
      override set(key: string, value: string, options: SetOptions): Promise<SetResult> {
        return super.set(key, value, { ...options, ttlMs: options.ttlMs >= 2 ** 31 ? 1 : options.ttlMs });
      }
    },
  },
  {
    fault: "shows the last page only",
    noticed: /a listing shows every entry under the prefix/,
    broken: class extends Passing {
      override async entries(options: EntriesOptions): Promise<EntryPage> {
        const { entries } = await super.entries({ ...options, limit: 10 });
        return { entries, cursor: undefined };
      }
    },
  },
  {
    fault: "takes a prefix for a pattern",
    noticed: /every character of a prefix means itself/,
    broken: class extends Passing {
      override entries({ prefix, ...options }: EntriesOptions): Promise<EntryPage> {
        return super.entries({ ...options, prefix: prefix.split("*")[0] ?? prefix });
      }
    },
  },
];

describe("the contract", () => {
  test("is kept by a store that passes everything on", async () => {
    const clock = new ManualClock();
    expect(await checkStore({ clock, createStore: () => new Passing(memory(clock)) })).toEqual([]);
  });

  for (const { fault, noticed, broken: Broken } of breakages) {
    test(`notices a store that ${fault}`, async () => {
      const clock = new ManualClock();
      const failures = await checkStore({ clock, createStore: () => new Broken(memory(clock)) });
      expect(failures.map(({ name }) => name)).toContainEqual(expect.stringMatching(noticed));
    });
  }

  test("notices a store that shares nothing with its peer", async () => {
    const failures = await checkStore({ createStore: () => new MemoryStore(), createPeer: () => new MemoryStore() });
    expect(failures.map(({ name }) => name)).toEqual([
      "of many claims at once through two stores exactly one is granted",
      "what one store writes, another sees at once",
      expect.stringMatching(/fence/),
    ]);
  });
});
