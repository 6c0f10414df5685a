// style: functional
const ids = [1, 3, 9, 4];
const users = (await Promise.all(ids.map((id) => tools.get_user({ id }).catch(() => null)))).filter(Boolean);
const themes = users.map((u) => u.settings && u.settings.theme).filter((t) => t);
return { names: users.map((u) => u.name), themes };
