// line: 4
// about: parseJSON
const { content } = await tools.readFile({ filePath: 'config/app.json' });
const config = JSON.parseJSON(content);
return config.port;
