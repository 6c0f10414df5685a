// line: 4
// about: readfile
async function load(path) {
  const { content } = await tools.readfile({ filePath: path });
  return JSON.parse(content);
}
const config = await load('config/app.json');
return config.port;
