// line: 7
// about: Promise
const ids = ['c1', 'c3', 'c5'];
const contacts = Promise.all(ids.map((id) => tools.crm.contacts.get({ id })));

let score = 0;
for (const contact of contacts) {
  score += contact.score;
}
return score / ids.length;
