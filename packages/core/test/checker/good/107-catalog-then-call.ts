// style: discovery
const [best] = await catalog.search('refund an order', { limit: 1 });
if (best?.name !== 'refundOrder') return { found: best?.name ?? null };
const call = tools[best.name];
const refund = await call({ orderId: 'o2', amount: 12.5, reason: 'late' });
return { found: best.name, status: refund.status };
