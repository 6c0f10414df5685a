// line: 9
// about: formatter
const { deals } = await tools.crm.deals.list({});
const rows = deals
  .filter((deal) => deal.stage !== 'lost')
  .map((deal) => ({ id: deal.id, amount: deal.amount }));

const total = rows.reduce((sum, row) => sum + row.amount, 0);
text(`Pipeline: ${formatter.format(total)}`);

const formatter = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
return rows.map((row) => `${row.id} ${formatter.format(row.amount)}`);
