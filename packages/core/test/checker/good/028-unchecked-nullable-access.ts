// style: typed, without checks
const issue = await tools.github.getIssue({ repo: 'acme/app', number: 3 });
const user = await tools.get_user({ id: 2 });
return {
  assignee: issue.assignee.login.toUpperCase(),
  manager: user.manager.name,
  theme: user.settings.theme,
  lastLogin: user.lastLogin.slice(0, 10),
};
