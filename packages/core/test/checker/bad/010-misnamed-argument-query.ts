// line: 7
// about: sql
interface Row {
  id: string;
  total: number;
}
const { rows } = await tools.runSql({ sql: 'SELECT id, total FROM orders' });
const sorted = (rows as Row[]).sort((a, b) => b.total - a.total);
return sorted.slice(0, 3).map((row) => row.id);
