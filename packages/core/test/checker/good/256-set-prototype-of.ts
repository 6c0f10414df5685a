// style: set prototype of
const base = { greet() { return 'hi ' + this.name; } };
const child = { name: 'Bo' };
Object.setPrototypeOf(child, base);
return child.greet();
