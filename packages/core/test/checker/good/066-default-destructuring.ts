// style: destructuring with defaults
async function summary({ repo = 'acme/app', state = 'open', labels = [], limit = 5 } = {}) {
  const { issues, nextPage = null } = await tools.github.listIssues({ repo, state, perPage: limit });
  const [first = {}, second, ...rest] = issues;
  const { title = 'none', assignee: { login: owner = 'nobody' } = {} } = first;
  return { title, owner, second: second?.number, rest: rest.length, more: nextPage !== null, labels };
}
return [await summary(), await summary({ state: 'closed', limit: 1 })];
