// style: this dynamic keys
class Model { constructor(d) { for (const k of Object.keys(d)) this[k] = d[k]; } get short() { return this.title.slice(0, 3); } }
return new Model({ title: 'Hello' }).short;
