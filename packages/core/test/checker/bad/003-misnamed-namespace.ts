// line: 3
// about: hubspot
const page = await tools.hubspot.contacts.list({ limit: 3 });
return page.items.map((c) => c.name);
