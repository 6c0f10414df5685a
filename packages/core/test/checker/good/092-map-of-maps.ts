// style: typed, without checks
const matrix = new Map<string, Map<string, number>>();
const { deals } = await tools.crm.deals.list({});
for (const { currency, stage, amount } of deals) {
  if (!matrix.get(currency)) matrix.set(currency, new Map());
  const row = matrix.get(currency)!;
  row.set(stage, (row.get(stage) || 0) + amount);
}
return { eur: matrix.get('EUR').get('won'), usd: matrix.get('USD').get('open'), none: matrix.get('USD').get('won') ?? null };
