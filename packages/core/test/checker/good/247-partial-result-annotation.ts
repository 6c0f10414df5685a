// style: partial result annotation
const summary: { total: number } = { total: 0 }; for (const u of await tools.listUsers({})) summary[u.role] = u.name; return [summary.total, summary.admin];
