// style: chatty with comments
// We don't want to hammer the API, so requests go out in chunks of two.
const ids = ['c1', 'c2', 'c3', 'c4', 'c5'];

// Small helper: splits an array into pieces of a given size.
const chunk = (arr, size) => {
  const out = [];
  for (let i = 0; i < arr.length; i += size) {
    out.push(arr.slice(i, i + size));
  }
  return out;
};

const contacts = [];
for (const batch of chunk(ids, 2)) {
  // Everything in one batch runs side by side.
  const loaded = await Promise.all(batch.map((id) => tools.crm.contacts.get({ id })));
  contacts.push(...loaded);
}

// Finally: who has no mail address?
return contacts.filter((c) => !c.email).map((c) => c.name);
