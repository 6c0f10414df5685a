// A sandbox worker on a machine that has no memory for more than three instances: one compiles, two run scripts.
const { Instance } = WebAssembly;
let made = 0;
WebAssembly.Instance = class extends Instance {
  constructor(...given) {
    if (made === 3) throw new RangeError('Cannot allocate Wasm memory for new instance');
    super(...given);
    made++;
  }
};
await import('../../../dist/sandbox/worker/entry.js');
