// style: symbol iterator assigned later
const range = { from: 1, to: 4 };
range[Symbol.iterator] = function* () { for (let i = this.from; i <= this.to; i++) yield i; };
return [...range];
