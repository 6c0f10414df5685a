// line: 5
// about: items
return tools
  .listOrders({ status: 'paid' })
  .then((result) => result.items.map((order) => order.id))
  .catch((error) => `failed: ${error.message}`);
