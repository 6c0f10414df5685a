// style: plain JavaScript
const { content } = await tools.readFile({ filePath: 'data/sales.csv' });
const rows = content.trim().split('\n').slice(1).map((l) => l.split(','));
// Amounts are texts, minus makes numbers of them.
rows.sort((a, b) => b[2] - a[2]);
const total = rows.reduce((sum, row) => sum + row[2] * 1, 0);
return { best: rows[0][0], total };
