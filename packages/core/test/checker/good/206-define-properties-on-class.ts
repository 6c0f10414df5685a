// style: define properties on class
class V {} for (const k of ['x', 'y']) Object.defineProperty(V.prototype, k, { get() { return k; } }); return new V().x;
