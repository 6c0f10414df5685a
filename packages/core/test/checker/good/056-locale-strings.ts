// style: chatty with comments
// Money for humans.
const { deals } = await tools.crm.deals.list();
const byCurrency: { [code: string]: number } = {};
for (const { currency, amount } of deals) byCurrency[currency] = (byCurrency[currency] || 0) + amount;
const lines = Object.keys(byCurrency).map((code) => `${code} ${byCurrency[code].toLocaleString('en-US', { minimumFractionDigits: 2 })}`);
const percent = new Intl.NumberFormat('en-US', { style: 'percent' }).format(deals.filter((d) => d.stage === 'won').length / deals.length);
text(lines.join('\n'));
return { lines, percent };
