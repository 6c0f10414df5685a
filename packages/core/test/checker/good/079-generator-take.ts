// style: functional, generators
async function* contacts() {
  let cursor;
  do {
    const page = await tools.crm.contacts.list({ cursor, limit: 1 });
    yield* page.items;
    cursor = page.nextCursor;
  } while (cursor);
}
async function* take(source, n) {
  let i = 0;
  if (n <= 0) return;
  for await (const item of source) {
    yield item;
    if (++i >= n) return;
  }
}
const out = [];
for await (const c of take(contacts(), 3)) out.push(c.name);
return out;
