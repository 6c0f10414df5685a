// style: over-typed TypeScript
const issue = await tools.github.getIssue({ repo: 'acme/app', number: 1 });
const login: string = issue.assignee!.login;
const match = /release (\d+)\.(\d+)/.exec(issue.body!)!;
const [major, minor] = match.slice(1).map(Number) as [number, number];
return { login, major: major!, minor: minor! };
