// line: 3
// about: await
const settings = JSON.stringify(tools.kv.get({ key: 'settings' }));
await tools.writeFile({ filePath: 'settings.json', content: settings });
return settings;
