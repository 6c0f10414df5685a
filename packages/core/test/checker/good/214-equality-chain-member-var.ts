// style: equality chain member var
const r = await tools.crm.contacts.list({}); const total = r.total; if (total === undefined) return r.items.length; return total;
