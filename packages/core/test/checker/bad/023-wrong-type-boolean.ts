// line: 3
// about: boolean
const listing = await tools.listDir({ path: 'src', recursive: 'true' });
return listing.entries.map((entry) => entry.path);
