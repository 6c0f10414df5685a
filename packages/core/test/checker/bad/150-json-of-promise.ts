// line: 12
// about: stringify
// may: warn
const keys = (await tools.kv.list({})).keys;
const dump = {};
for (const key of keys) {
  dump[key] = await tools.kv.get({ key });
}

const user = await tools.get_user({ id: 1 });
const header = `# Dump for ${user.name}\n`;
const body = JSON.stringify(tools.crm.contacts.list({ limit: 10 }), null, 2);
const { written } = await tools.writeFile({ filePath: 'dump.md', content: header + JSON.stringify(dump) + body });
return written;
