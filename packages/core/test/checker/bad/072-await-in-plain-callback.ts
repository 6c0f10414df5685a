// line: 5
// about: await
const ids = [1, 2, 4];
const names = ids.map((id) => {
  const user = await tools.get_user({ id });
  return user.name;
});
return names;
