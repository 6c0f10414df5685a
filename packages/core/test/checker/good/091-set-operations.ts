// style: functional
const [vip, eu] = await Promise.all(
  ['vip', 'eu'].map(async (tag) => {
    const { items } = await tools.crm.contacts.list({ limit: 50 });
    return new Set(items.filter((c) => c.tags.includes(tag)).map((c) => c.id));
  }),
);
const both = [...vip].filter((id) => eu.has(id));
const either = [...new Set([...vip, ...eu])].sort();
return { both, either };
