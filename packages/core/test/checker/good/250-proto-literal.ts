// style: proto literal
const base = { greet() { return 'hi ' + this.name; } };
const child = { __proto__: base, name: 'Bo' };
return child.greet();
