// line: 5
// about: iterator
const { stock } = await tools.getInventory({ skus: ['pen', 'ink'] });
let total = 0;
for (const [sku, count] of stock) {
  console.log(sku, count);
  total += count;
}
return total;
