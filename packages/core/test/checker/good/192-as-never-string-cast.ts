// style: as never string cast
const rows = (await tools.readFile({ filePath: 'data/scores.txt' })).content.trim().split('\n') as string[]; const recs = rows.map((r) => ({ raw: r })); for (const r of recs) [r.name, r.score] = r.raw.split(' ');
return recs.map((r) => r.name);
