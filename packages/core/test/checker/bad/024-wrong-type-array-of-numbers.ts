// line: 4
// about: string[]
const codes = [101, 102, 103];
const { stock } = await tools.getInventory({ skus: codes });
return Object.values(stock).reduce((a, b) => a + b, 0);
