// line: 5
// about: foreach
const { matches } = await tools.searchFiles({ pattern: 'TODO' });
const out: string[] = [];
matches.foreach((match) => {
  out.push(match.filePath);
});
return out;
