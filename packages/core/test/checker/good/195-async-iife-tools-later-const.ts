// style: async iife tools later const
const work = (async function () { const u = await tools.get_user({ id: 1 }); return prefix + u.name; })();
const prefix = 'User: ';
return await work;
