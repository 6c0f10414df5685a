// style: typed
type Line = { at: Date; level: string; message: string };
const { content } = await tools.readFile({ filePath: 'logs/app.log' });
const lines: Line[] = content
  .trim()
  .split('\n')
  .map((raw) => {
    const [, at, level, message] = /^(\S+) (\w+) (.*)$/.exec(raw);
    return { at: new Date(at), level, message };
  });
const gaps = lines.slice(1).map((line, i) => (line.at.getTime() - lines[i].at.getTime()) / 1000);
return { gaps, longestAfter: lines[gaps.indexOf(Math.max(...gaps))].message };
