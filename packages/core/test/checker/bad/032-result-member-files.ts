// line: 4
// about: files
const listing = await tools.listDir({ path: 'config' });
const names = listing.files.map((f) => f.name);
return names.sort();
