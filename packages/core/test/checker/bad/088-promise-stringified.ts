// line: 4
// about: await
// may: warn
const settings = JSON.stringify(tools.kv.get({ key: 'settings' }));
await tools.writeFile({ filePath: 'settings.json', content: settings });
return settings;
