// style: plain JavaScript
let data = await tools.readFile({ filePath: 'data/scores.txt' });
data = data.content.trim().split('\n');
data = data.map((l) => l.split(' '));
data = Object.fromEntries(data.map(([k, v]) => [k, Number(v)]));
let count = '0';
count = Number(count) + Object.keys(data).length;
return { data, count };
