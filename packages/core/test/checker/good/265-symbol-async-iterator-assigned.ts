// style: symbol async iterator assigned
const src = { n: 2 }; src[Symbol.asyncIterator] = async function* () { for (let i = 0; i < this.n; i++) yield i; }; const o = []; for await (const x of src) o.push(x); return o;
