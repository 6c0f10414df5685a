// line: 6
// about: arithmetic
// may: warn
const contact = await tools.crm.contacts.get({ id: 'c1' });
const deals = (await tools.crm.deals.list({ stage: 'won' })).deals;
const average = contact.name / deals.length;
return average;
