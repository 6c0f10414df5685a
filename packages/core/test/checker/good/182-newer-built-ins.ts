// style: functional
const { items } = await tools.crm.contacts.list({ limit: 5 });
const tags = new Set(items.flatMap((c) => c.tags));
const extra = tags.difference(new Set(['eu'])).union(new Set(['new']));
const last = items.findLast((c) => c.score > 80);
const swapped = items.map((c) => c.id).with(0, 'first').toReversed();
return { extra: [...extra], last: last.name, swapped, has: Object.hasOwn(last, 'email') };
