// style: plain JavaScript, callbacks with fewer or more parameters
const add = (a, b = 0) => a + b;
const sums = [1, 2, 3].map(add);
const parsed = ['1', '2', '3'].map((s) => parseInt(s));
const { stock } = await tools.getInventory({ skus: ['pen', 'ink', 'desk'] });
const lines = Object.keys(stock).map((sku, index, all) => `${index + 1}/${all.length} ${sku}`);
return { sums, parsed, lines };
