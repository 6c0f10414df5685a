// line: 4
// about: fs
const { entries } = await tools.listDir({ path: 'config' });
const configs = entries.map((entry) => JSON.parse(fs.readFileSync(entry.path, 'utf8')));
return configs.length;
