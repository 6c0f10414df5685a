// style: JSON shuffling
const raw = await tools.reports.legacy({ name: 'q1' });
const report = JSON.parse(raw);
const rows = report.sections.map((s) => ({
  title: s.title,
  sum: s.values.reduce((a, b) => a + b, 0),
  unit: s.meta?.unit ?? 'n/a',
}));
report.rows = rows;
delete report.sections;
return report;
