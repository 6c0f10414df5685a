// line: 10
// about: next_cursor
type Page = Awaited<ReturnType<typeof tools.crm.contacts.list>>;

async function* everyContact(limit = 2): AsyncGenerator<Page['items'][number]> {
  let cursor: string | undefined;
  for (;;) {
    const page: Page = await tools.crm.contacts.list({ cursor, limit });
    yield* page.items;
    if (!page.next_cursor) return;
    cursor = page.nextCursor;
  }
}

const byCompany: Record<string, string[]> = {};
for await (const contact of everyContact()) {
  const company = contact.company?.name ?? 'none';
  (byCompany[company] ??= []).push(contact.name);
}
return byCompany;
