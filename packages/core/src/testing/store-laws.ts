import type { AppendOptions, HarnessStore, ListQuery, ListedScript, TakeOptions } from '../protocol/index.js';

export interface TestStoreOptions {
  /** Maximum size of one script's journal and slot. Default: at least 32 MiB. */
  maxScriptBytes?: number | undefined;
  /** Opens the data of this existing store again instead of creating an empty one. */
  beside?: HarnessStore | undefined;
  /** Only leases decide whether a claim is held; the store must not use other knowledge about the holder. */
  leasesOnly?: boolean | undefined;
}

/** Creates an empty store, or opens an existing one again. */
export type MakeStore = (options?: TestStoreOptions) => HarnessStore | Promise<HarnessStore>;

/** One law of the ports in `HarnessStore`. `check` rejects if the store breaks the law. */
export interface StoreLaw {
  readonly name: string;
  check(makeStore: MakeStore): Promise<void>;
}

/** A store as most laws use it: every claim is forced. */
export function plain(store: HarnessStore) {
  const { claim, journal, images } = store;
  return {
    images,
    claim: {
      current: async (scriptId: string) => {
        const found = await claim.current(scriptId);
        return found === undefined ? undefined : { epoch: found.epoch, isHeld: found.isHeld };
      },
      take: async (scriptId: string, fromEpoch: number) =>
        (await claim.take(scriptId, fromEpoch, { ...HOLDER, force: true })) !== undefined,
      release: (scriptId: string, epoch: number) => claim.release(scriptId, epoch),
    },
    journal: {
      append: (scriptId: string, epoch: number, lines: readonly string[], options?: AppendOptions) =>
        journal.append(scriptId, epoch, lines, options),
      read: async (scriptId: string) => (await journal.read(scriptId))?.lines,
      list: async (query?: ListQuery) => (await journal.list(query)).scripts,
      page: (query: ListQuery) => journal.list(query),
      delete: (scriptId: string) => journal.delete(scriptId),
    },
  };
}

export type PlainStore = ReturnType<typeof plain>;

export const HOLDER: TakeOptions = { owner: 'the suite', leaseMs: 60_000 };

export function comparedScript(script: ListedScript | undefined) {
  const { scriptId: _scriptId, updatedAtMs: _updatedAtMs, bytes: _bytes, ...rest } = script ?? ({} as ListedScript);
  return rest;
}

export function law(name: string, check: (store: PlainStore, makeStore: MakeStore) => Promise<void>): StoreLaw {
  return { name, check: async (makeStore) => check(plain(await makeStore()), makeStore) };
}

/** A law that uses the ports directly. */
export function portLaw(name: string, check: (store: HarnessStore, makeStore: MakeStore) => Promise<void>): StoreLaw {
  return { name, check: async (makeStore) => check(await makeStore(), makeStore) };
}

/** Appends lines. A store may throw or reject; the result rejects in both cases. */
export async function append(
  journal: Pick<PlainStore['journal'], 'append'>,
  scriptId: string,
  epoch: number,
  lines: readonly string[],
  options?: AppendOptions,
): Promise<void> {
  await journal.append(scriptId, epoch, lines, options);
}
