// style: functional
const { content } = await tools.readFile({ filePath: 'logs/app.log' });
const levels = content
  .split('\n')
  .filter(Boolean)
  .map((line) => line.split(' ')[1])
  .reduce((acc, level) => ({ ...acc, [level]: (acc[level] || 0) + 1 }), {});
const worst = ['ERROR', 'WARN', 'INFO'].find((level) => levels[level] > 0);
return { levels, worst };
