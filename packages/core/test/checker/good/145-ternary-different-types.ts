// style: plain JavaScript
const { exists, size } = await tools.stat({ filePath: 'README.md' });
let value = exists ? size : 'missing';
value = String(value);
let answer = 0;
answer = exists ? 'yes' : 'no';
const mixed = [1, 'two', null, { three: 3 }];
mixed.push(true);
return { value: value.length, answer, mixed };
