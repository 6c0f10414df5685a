// style: old-style JavaScript
const { content } = await tools.readFile({ filePath: 'logs/app.log' });
const re = /(\d+)ms/g;
let m;
let sum = 0;
const all = [];
while ((m = re.exec(content)) !== null) {
  sum += +m[1];
  all.push(m.index);
}
return { sum, count: all.length };
