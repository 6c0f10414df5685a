// style: map typed value loose
const users = new Map<number, { name: string }>(); for (const u of await tools.listUsers({})) users.set(u.id, u); return users.get(2).email;
