// style: functional
const paths = ['README.md', 'package.json'];
const stats = await Promise.all(paths.map((filePath) => ({ filePath })).map(tools.stat));
const readers = { text: tools.readFile, size: tools.stat };
const one = await readers['text']({ filePath: 'data/scores.txt' });
return { sizes: stats.map((s) => s.size), one: one.size };
