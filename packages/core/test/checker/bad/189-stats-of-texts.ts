// line: 9
// about: number[]
const { content } = await tools.readFile({ filePath: 'data/scores.txt' });
const values = content
  .trim()
  .split('\n')
  .map((line) => line.split(' ')[1]);

const { mean, max } = await tools.stats.describe({ values });
return { mean: mean.toFixed(1), max };
