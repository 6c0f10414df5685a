// line: 4
// about: argument
const report = '# Report\n\nAll is well.\n';
const { written } = await tools.writeFile('out/report.md', report);
return written;
