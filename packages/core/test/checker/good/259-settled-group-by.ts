// style: settled group by
const rs = await Promise.allSettled([1, 99].map((id) => tools.get_user({ id }))); const { fulfilled = [], rejected = [] } = Object.groupBy(rs, (r) => r.status); return [fulfilled.map((r) => r.value.name), rejected.map((r) => r.reason.message)];
