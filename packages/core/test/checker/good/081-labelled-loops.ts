// style: loops with labels
const { entries } = await tools.listDir({ recursive: true });
let found = null;
files: for (const entry of entries) {
  if (entry.type !== 'file') continue;
  const { content } = await tools.readFile({ filePath: entry.path });
  let number = 0;
  for (const line of content.split('\n')) {
    number++;
    if (line.includes('skip this file')) continue files;
    if (line.includes('FIXME')) {
      found = { path: entry.path, line: number };
      break files;
    }
  }
}
return found.path + ':' + found.line;
