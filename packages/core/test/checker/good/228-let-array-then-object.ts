// style: let array then object
let out = []; out = { list: out, n: 0 }; return out.n;
