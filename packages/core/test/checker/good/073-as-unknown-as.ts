// style: over-typed TypeScript
type Row = { region: string; month: number; amount: number };
const { content } = await tools.readFile({ filePath: 'data/sales.csv' });
const raw = (await tools.parseCsv({ text: content })) as unknown as Record<keyof Row, string>[];
const rows: Row[] = raw.map((r) => ({ region: r.region, month: +r.month, amount: Number(r.amount) }));
const february = rows.filter((r) => r.month === 2);
return february.map(({ region, amount }) => [region, amount] as const);
