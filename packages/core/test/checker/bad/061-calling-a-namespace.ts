// line: 3
// about: callable
const issue = await tools.github({ repo: 'acme/app', number: 1 });
return issue.title;
