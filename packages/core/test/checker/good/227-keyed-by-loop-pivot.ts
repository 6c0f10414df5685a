// style: keyed by loop pivot
const { rows } = await tools.runSql({ query: 'select 1' }); const pivot = { all: 0 }; rows.forEach((r) => { pivot[r.status] ??= 0; pivot[r.status] += r.total; pivot.all += r.total; }); return [pivot.paid, pivot.all];
