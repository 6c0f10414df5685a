// style: plain JavaScript
const { entries } = await tools.listDir({ recursive: true });
const large = entries.filter((e) => e.size > 100).map((e) => e.path);
const bytes = entries.reduce((sum, e) => sum + (e.type === 'file' ? e.size : 0), 0);
const { size } = await tools.stat({ filePath: 'data/scores.txt' });
return { large, bytes, share: Math.round((size / bytes) * 100) };
