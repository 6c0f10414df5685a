// style: array cell changes type
const rows = 'a,1\nb,2'.split('\n').map((l) => l.split(','));
for (const row of rows) row[1] = Number(row[1]);
return rows.map((r) => r[1].toFixed(2));
