// style: own interface incomplete
interface Row { id: string; total: number }
const { rows } = await tools.runSql({ query: 'select * from orders' });
const typed: Row[] = rows;
return typed.map((r) => `${r.id} ${r.status}`);
