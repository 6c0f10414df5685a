// style: terse
const { readFile, writeFile, stat } = tools;
const { content } = await readFile({ filePath: 'config/app.json' });
const config = JSON.parse(content);
config.features.beta = !config.features.beta;
config.hosts.push('c');
await writeFile({ filePath: 'config/app.json', content: JSON.stringify(config, null, 2) });
const { size, exists } = await stat({ filePath: 'config/app.json' });
return { size, exists, beta: config.features.beta };
