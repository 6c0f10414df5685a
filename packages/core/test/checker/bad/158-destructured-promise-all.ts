// line: 12
// about: filter
// Everything at once, please.
const [users, orders, weather] = await Promise.all([
  tools.listUsers({ active: true }),
  tools.listOrders({ pageSize: 20 }),
  tools.getWeather({ city: 'Oslo' }),
]);

const spent = users.map((user) => ({
  name: user.name,
  total: orders.filter((order) => order.userId === user.id).reduce((sum, order) => sum + order.total, 0),
}));
spent.sort((a, b) => b.total - a.total);

return { best: spent[0]?.name, weather: weather.condition };
