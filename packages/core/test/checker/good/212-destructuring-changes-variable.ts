// style: destructuring changes variable
let data = 'x', rest;
({ content: data, size: rest } = await tools.readFile({ filePath: 'README.md' }));
[data] = [data.split('\n')];
return data.map((l) => l.length).length;
