// style: let content json parsed
let data = (await tools.readFile({ filePath: 'package.json' })).content;
try { data = JSON.parse(data); } catch {}
return data.name;
