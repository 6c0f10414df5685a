// style: over-typed TypeScript
const { items } = await tools.crm.contacts.list({ limit: 2 });
// @ts-ignore: the declaration does not know it
const first = items[0].nickname ?? items[0].name;
// @ts-expect-error: text and number
const sum: number = items[1].score + '';
return { first, sum: typeof sum };
