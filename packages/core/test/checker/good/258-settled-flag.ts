// style: settled flag
const results = await Promise.allSettled([1, 77].map((id) => tools.get_user({ id })));
const ok = (r) => r.status === 'fulfilled';
const good = [], bad = [];
for (const r of results) { if (ok(r)) good.push(r.value.name); }
results.forEach((r) => { const failed = !ok(r); if (failed) bad.push(r.reason.message); });
return { good, bad };
