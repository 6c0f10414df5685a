// style: let zero any
let s = 0;
s = await tools.kv.get({ key: 'names' });
return s.map((n) => n.length);
