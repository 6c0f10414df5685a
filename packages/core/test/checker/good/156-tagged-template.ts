// style: functional
const sql = (parts, ...values) => ({ query: parts.join('?'), params: values });
const userId = 2;
const { rows } = await tools.runSql(sql`SELECT * FROM orders WHERE user_id = ${userId}`);
return rows.map((r) => r.id);
