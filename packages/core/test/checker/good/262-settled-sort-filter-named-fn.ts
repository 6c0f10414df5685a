// style: settled sort filter named fn
const rs = await Promise.allSettled([1, 99].map((id) => tools.get_user({ id }))); function isOk(r) { return r.status === 'fulfilled'; } return rs.filter(isOk).map((r) => r.value.name);
