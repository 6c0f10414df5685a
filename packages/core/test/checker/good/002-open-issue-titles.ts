// style: terse
const { issues } = await tools.github.listIssues({ repo: 'acme/app', perPage: 10 });
return issues.map((i) => `#${i.number} ${i.title}`);
