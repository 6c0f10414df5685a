// line: 3
// about: Store
const store = new Store();
await store.save('a', 1);
return store.keys();

class Store {
  async save(key: string, value: number) {
    await tools.kv.set({ key, value });
  }
  async keys() {
    return (await tools.kv.list({})).keys;
  }
}
