// style: defensive
const root = context.workingDirectory ?? '.';
const resolve = (...parts) => [root.replace(/\/+$/, ''), ...parts].join('/');
const { entries } = await tools.listDir({ path: 'src' });
return entries.map((e) => resolve(e.path));
