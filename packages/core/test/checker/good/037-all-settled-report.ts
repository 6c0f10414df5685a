// style: careful about errors
const ids = [1, 2, 77];
const settled = await Promise.allSettled(ids.map((id) => tools.get_user({ id })));
const names = settled.flatMap((s) => (s.status === 'fulfilled' ? [s.value.name] : []));
const errors = settled.filter((s) => s.status === 'rejected').map((s) => s.reason.message);
return { names, errors };
