// style: reflective, plain JavaScript
const steps = [
  { tool: 'readFile', args: { filePath: 'data/scores.txt' } },
  { tool: 'stat', args: { filePath: 'data/scores.txt' } },
];
const out = {};
for (const step of steps) {
  out[step.tool] = await tools[step.tool](step.args);
}
return { size: out.stat.size, sameSize: out.stat.size === out.readFile.content.length };
