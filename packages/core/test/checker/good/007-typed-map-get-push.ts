// style: typed, without checks
const { deals } = await tools.crm.deals.list({});
const byStage = new Map<string, number[]>();
for (const deal of deals) {
  if (!byStage.has(deal.stage)) byStage.set(deal.stage, []);
  byStage.get(deal.stage).push(deal.amount);
}
return [...byStage].map(([stage, amounts]) => ({ stage, total: amounts.reduce((a, b) => a + b, 0) }));
