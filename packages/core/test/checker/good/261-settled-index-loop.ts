// style: settled index loop
const rs = await Promise.allSettled([1, 99].map((id) => tools.get_user({ id }))); const out = []; for (let i = 0; i < rs.length; i++) { if (rs[i].status === 'fulfilled') out.push(rs[i].value.name); else out.push(rs[i].reason.message); } return out;
