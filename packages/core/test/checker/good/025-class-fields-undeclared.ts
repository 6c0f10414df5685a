// style: class-heavy, plain JavaScript
class Report {
  constructor(title) {
    this.title = title;
    this.rows = [];
  }
  add(row) {
    this.rows.push(row);
    return this;
  }
  get size() {
    return this.rows.length;
  }
  toString() {
    return [this.title, ...this.rows.map((r) => ' - ' + r)].join('\n');
  }
}
const report = new Report('Weather');
for (const city of ['Oslo', 'Quito']) {
  const w = await tools.getWeather({ city });
  report.add(`${city}: ${w.celsius}°C, ${w.condition}`);
}
report.footer = `${report.size} cities`;
text(String(report));
return { size: report.size, footer: report.footer };
