// line: 3
// about: recursive
const listing = await tools.listDir({ path: 'src', recursive: 'true' });
return listing.entries.map((entry) => entry.path);
