// style: all settled map value
const results = await Promise.allSettled([1, 2].map((id) => tools.get_user({ id })));
if (results.some((r) => r.status === 'rejected')) throw new Error('failed');
return results.map((r) => r.value.name);
