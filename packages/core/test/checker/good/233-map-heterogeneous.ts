// style: map heterogeneous
const m = new Map([['a', 1], ['b', 2]]); m.set('c', 'x'); return m.get('c').toUpperCase();
