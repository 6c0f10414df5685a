// line: 7
// about: null
// may: warn
let nextCursor: string | null = null;
const names: string[] = [];
do {
  const page = await tools.crm.contacts.list({ cursor: nextCursor });
  names.push(...page.items.map((c) => c.name));
  nextCursor = page.nextCursor ?? null;
} while (nextCursor !== null);
return names;
