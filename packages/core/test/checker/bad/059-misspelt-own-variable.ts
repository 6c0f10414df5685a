// line: 5
// about: contcts
const contacts = (await tools.crm.contacts.list({ limit: 10 })).items;
const vips = contacts.filter((c) => c.tags.includes('vip'));
const rest = contcts.filter((c) => !c.tags.includes('vip'));
return { vips: vips.length, rest: rest.length };
