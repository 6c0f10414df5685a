// style: JSON shuffling
const { columns, rows } = await tools.runSql({ query: 'SELECT * FROM orders', params: [1, 2] });
const table = [columns, ...rows.map((row) => columns.map((c) => row[c]))];
text(table.map((line) => line.join('\t')).join('\n'));
const paid = rows.filter((r) => r.status === 'paid');
return { rows: rows.length, paid: paid.length, average: rows.reduce((s, r) => s + r.total, 0) / rows.length };
