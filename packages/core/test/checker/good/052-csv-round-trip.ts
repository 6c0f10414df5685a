// style: chatty with comments
// Step 1: load the CSV that the sales team exports every month.
const { content } = await tools.readFile({ filePath: 'data/sales.csv' });

// Step 2: let the CSV tool do the parsing for us.
const rows = await tools.parseCsv({ text: content });

// Step 3: aggregate per region. Amounts arrive as strings!
const perRegion = {};
for (const row of rows) {
  perRegion[row.region] = (perRegion[row.region] ?? 0) + Number(row.amount);
}

// Step 4: write a new CSV, biggest region first.
const lines = Object.entries(perRegion)
  .sort(([, a], [, b]) => b - a)
  .map(([region, amount]) => `${region},${amount}`);
const csv = ['region,total', ...lines].join('\n');
const { written } = await tools.writeFile({ filePath: 'data/totals.csv', content: csv });

// Step 5: tell the user.
console.log(`wrote ${written} characters`);
return { csv, written };
