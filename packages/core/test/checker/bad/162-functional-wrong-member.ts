// line: 7
// about: login
const { prs } = await tools.list_open_prs({ repo: 'acme/app' });

const load = prs
  .filter((pr) => !pr.draft)
  .flatMap((pr) => pr.reviewers.map((reviewer) => ({ login: reviewer.login, lines: pr.additions + pr.deletions })))
  .reduce((sum, { login, lines }) => ({ ...sum, [login]: (sum[login] ?? 0) + lines }), {} as Record<string, number>);

return Object.entries(load).sort((a, b) => b[1] - a[1]);
