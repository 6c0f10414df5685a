// style: object property array to map
const ctx = { users: [] as string[] };
ctx.users = new Map([['a', 1]]) as any;
return ctx.users.get('a');
