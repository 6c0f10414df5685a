// style: recursion
async function chain(id, seen = []) {
  const user = await tools.get_user({ id });
  seen.push(user.name);
  return user.manager ? chain(user.manager.id, seen) : seen;
}
return await chain(3);
