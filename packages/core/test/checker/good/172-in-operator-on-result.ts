// style: defensive
const page = await tools.crm.contacts.list({ limit: 50 });
const more = 'nextCursor' in page && page.nextCursor !== undefined;
const withPhone = page.items.filter((c) => 'phone' in c && Object.hasOwn(c, 'phone')).map((c) => c.phone.replace(/\D/g, ''));
const big = page.items.filter((c) => c.company && c.company.employees && c.company.employees > 100).length;
return { more, withPhone, big };
