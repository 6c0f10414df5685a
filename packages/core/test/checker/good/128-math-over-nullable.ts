// style: terse
const { issues } = await tools.jira.search_issues({ project: 'WEB' });
return { points: Math.max(...issues.map((i) => i.points)), owner: issues[0].assignee.email.split('@')[0] };
