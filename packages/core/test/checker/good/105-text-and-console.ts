// style: chatty
text('# Stock');
console.info('checking', ['pen', 'ink'], { at: 'shop' });
const { stock } = await tools.getInventory({ skus: ['pen', 'ink', 'lamp'] });
for (const [sku, count] of Object.entries(stock)) {
  if (count === 0) console.warn(`${sku} is out of stock`);
  text(`${sku.padEnd(6)}|${String(count).padStart(4)}`);
}
emit({ total: Object.values(stock).reduce((a, b) => a + b) });
console.debug(undefined, null, 1n, Symbol('x').toString());
return Object.keys(stock).length;
