// line: 4
// about: string
const report = '# Report\n\nAll is well.\n';
const { written } = await tools.writeFile('out/report.md', report.length);
return written;
