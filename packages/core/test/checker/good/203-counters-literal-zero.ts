// style: counters literal zero
const c = { A: 0, B: 0 }; for (const g of ['A', 'C', 'B']) c[g] = (c[g] || 0) + 1; return [c.A, c.C];
