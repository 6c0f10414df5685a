// style: ctor typed function
function create(ctor: Function, ...args: any[]) { return new (ctor as any)(...args); }
function make(Ctor: Function) { return new Ctor('x'); }
class A { name: string; constructor(n: string) { this.name = n; } }
return make(A).name + create(A, 'y').name;
