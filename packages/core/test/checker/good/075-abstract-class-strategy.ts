// style: class-heavy
abstract class Exporter {
  constructor(protected readonly folder: string) {}
  abstract get extension(): string;
  abstract render(rows: Array<Record<string, unknown>>): string;
  async export(name: string, rows: Array<Record<string, unknown>>) {
    const filePath = `${this.folder}/${name}.${this.extension}`;
    const { written } = await tools.writeFile({ filePath, content: this.render(rows) });
    return { filePath, written };
  }
}

class CsvExporter extends Exporter {
  get extension() {
    return 'csv';
  }
  render(rows) {
    const keys = Object.keys(rows[0] ?? {});
    return [keys.join(','), ...rows.map((row) => keys.map((key) => row[key]).join(','))].join('\n');
  }
}

class JsonLinesExporter extends Exporter {
  get extension() {
    return 'jsonl';
  }
  render(rows) {
    return rows.map((row) => JSON.stringify(row)).join('\n');
  }
}

const { rows } = await tools.runSql({ query: 'select id, total from orders' });
const done = [];
for (const exporter of [new CsvExporter('out'), new JsonLinesExporter('out')]) done.push(await exporter.export('orders', rows));
return done;
