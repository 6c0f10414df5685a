// style: over-typed TypeScript
const settled = await Promise.allSettled([
  tools.getOrder({ orderId: 'o1' }),
  tools.getOrder({ orderId: 'o404' }),
]);
const ok = settled.filter((r): r is PromiseFulfilledResult<any> => r.status === 'fulfilled').map((r) => r.value.id);
const failed = (settled.filter((r) => r.status === 'rejected') as PromiseRejectedResult[]).map((r) => String(r.reason.message));
return { ok, failed };
