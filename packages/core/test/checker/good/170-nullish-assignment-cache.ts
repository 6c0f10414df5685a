// style: terse
let cached;
const load = async () => (cached ??= await tools.readFile({ filePath: 'package.json' }));
const a = await load();
const b = await load();
const options = { retries: 0, name: '' };
options.retries ||= 3;
options.name ||= JSON.parse(cached.content).name;
options.extra &&= 1;
return { same: a === b, ...options };
