// style: arrow options default
const list = async ({ limit = 5, cursor } = {}) => (await tools.crm.contacts.list({ limit, cursor })).items.length; return [await list(), await list({ limit: 1 })];
