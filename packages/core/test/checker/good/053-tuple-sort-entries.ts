// style: functional
const { content } = await tools.readFile({ filePath: 'data/scores.txt' });
const scores = content
  .trim()
  .split('\n')
  .map((line) => line.split(' '))
  .map(([name, score]) => [name, parseInt(score)])
  .sort((a, b) => b[1] - a[1]);
const [[winner, points]] = scores;
return { winner, points, names: [...new Set(scores.map((s) => s[0]))] };
