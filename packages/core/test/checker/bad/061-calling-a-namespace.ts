// line: 3
// about: github
const issue = await tools.github({ repo: 'acme/app', number: 1 });
return issue.title;
