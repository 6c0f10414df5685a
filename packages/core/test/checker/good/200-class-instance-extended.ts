// style: class instance extended
class P { constructor(a) { this.a = a; } } const p = new P(1); Object.assign(p, { b: 2 }); return p.b;
