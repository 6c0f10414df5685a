// style: mixin assign prototype
const Printable = { print() { return `<${this.name}>`; } };
class Thing { constructor(name) { this.name = name; } }
Object.assign(Thing.prototype, Printable);
return new Thing('x').print();
