// style: spreads
const defaults = { pageSize: 3 };
const pages = await Promise.all([1, 2, 3].map((page) => tools.listOrders({ ...defaults, page })));
const args = [{ city: 'Oslo' }] as const;
const w = await tools.getWeather(...args);
return { ids: pages.flatMap((p) => p.orders).map((o) => o.id), wind: w.wind.direction };
