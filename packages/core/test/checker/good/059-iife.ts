// style: immediately called functions
const result = await (async () => {
  const { stock } = await tools.getInventory({ skus: ['pen', 'desk', 'ghost'] });
  return Object.entries(stock).filter(([, n]) => n > 0);
})();
const label = (function () {
  return result.length === 1 ? 'one' : 'many';
})();
return { result, label };
