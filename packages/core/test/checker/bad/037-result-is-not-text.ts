// line: 4
// about: split
const file = await tools.readFile({ filePath: 'data/scores.txt' });
const scores = file.split('\n').map((line) => Number(line.split(' ')[1]));
return Math.max(...scores);
