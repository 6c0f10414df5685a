// style: functional
const partial = (fn, fixed) => (rest) => fn({ ...fixed, ...rest });
const issue = partial(tools.github.getIssue, { repo: 'acme/app' });
const comment = partial(tools.github.addComment, { repo: 'acme/app', body: 'Same here' });
const titles = await Promise.all([1, 2].map((number) => issue({ number }).then((i) => i.title)));
const { id } = await comment({ number: 2 });
return { titles, id };
