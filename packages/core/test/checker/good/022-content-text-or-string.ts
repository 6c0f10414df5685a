// style: defensive
const file = await tools.readFile({ filePath: 'README.md' });
const body = typeof file === 'string' ? file : file.content || (file as any).text || '';
const lines = body.split(/\r?\n/);
return { lines: lines.length, title: lines.find((l) => l.startsWith('# '))?.slice(2) };
