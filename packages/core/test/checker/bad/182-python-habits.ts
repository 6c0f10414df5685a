// line: 12
// about: len
const { content } = await tools.readFile({ filePath: 'data/scores.txt' });
const lines = content.trim().split('\n');
const scores = {};

for (const line of lines) {
  const [name, score] = line.split(' ');
  scores[name] = Math.max(scores[name] ?? 0, Number(score));
}

return { players: Object.keys(scores).length, lines: len(lines) };
