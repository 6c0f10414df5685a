// style: object assign statement
const report = { title: 'Weekly' };
Object.assign(report, { total: 3, open: 2 });
return `${report.title}: ${report.total}`;
