import type { ApiKey, ApiKeyStore } from '@toolscript/service/stores';

/** Joins several key stores. The first store gets new keys; a deletion removes the key from every store. */
export function joinKeys(stores: readonly [ApiKeyStore, ...ApiKeyStore[]]): ApiKeyStore {
  return {
    add: (key) => stores[0].add(key),
    async get(keyId) {
      for (const store of stores) {
        const key = await store.get(keyId);
        if (key !== undefined) return key;
      }
      return undefined;
    },
    async list() {
      const keys = new Map<string, ApiKey>();
      for (const store of stores.toReversed()) for (const key of await store.list()) keys.set(key.keyId, key);
      return [...keys.values()].toSorted((one, other) => one.createdAt - other.createdAt);
    },
    async delete(keyId) {
      const deleted = await Promise.all(stores.map((store) => store.delete(keyId)));
      return deleted.includes(true);
    },
  };
}
