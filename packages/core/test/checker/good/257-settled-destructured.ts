// style: settled destructured
const rs = await Promise.allSettled([1, 99].map((id) => tools.get_user({ id }))); return rs.map(({ status, value, reason }) => (status === 'fulfilled' ? value.name : reason.message));
