// line: 8
// about: name
const issues = [];
for (const number of [1, 2, 4]) {
  issues.push(await tools.github.getIssue({ repo: 'acme/app', number }));
}
const first = await tools.github.getIssue({ repo: 'acme/app', number: 5 });
const author = first.author.name;
return { author, count: issues.length };
