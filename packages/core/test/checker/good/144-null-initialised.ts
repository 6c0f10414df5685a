// style: plain JavaScript
let config = null;
let lastError = null;
let result = undefined;
for (const filePath of ['config/broken.json', 'config/missing.json', 'config/app.json']) {
  try {
    config = JSON.parse((await tools.readFile({ filePath })).content);
    break;
  } catch (e) {
    lastError = e;
  }
}
if (config) result = config.hosts.length;
return { port: config.port, result, lastError: lastError.message.includes('missing') };
