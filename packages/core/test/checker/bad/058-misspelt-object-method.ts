// line: 4
// about: toEntries
const { stock } = await tools.getInventory({ skus: ['pen', 'lamp'] });
return Object.toEntries(stock).map(([sku, n]) => `${sku}=${n}`);
