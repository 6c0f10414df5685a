// style: terse
const a = await tools['get-user']({ id: 1 });
const b = await tools.get_user({ id: 1 });
const { prs } = await tools['list-open-prs']({ repo: 'acme/app' });
const same = await tools.list_open_prs({ repo: 'acme/app', limit: 1 });
return { same: a.name === b.name, count: prs.length, first: same.prs[0].title };
