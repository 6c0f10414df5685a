// line: 7
// about: pushAll
const contacts: { id: string; name: string }[] = [];
let cursor: string | undefined;
do {
  const page = await tools.crm.contacts.list({ cursor });
  contacts.pushAll(page.items);
  cursor = page.nextCursor;
} while (cursor);
return contacts.length;
