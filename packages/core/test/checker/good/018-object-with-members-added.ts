// style: plain JavaScript
// Builds the summary piece by piece.
const summary = {};
const { issues } = await tools.github.listIssues({ repo: 'acme/app', state: 'all', perPage: 50 });
summary.total = issues.length;
summary.open = issues.filter((i) => i.state === 'open').length;
summary.unassigned = issues.filter((i) => !i.assignee).map((i) => i.number);
const weather = await tools.getWeather({ city: 'Lima' });
summary.weather = weather.condition;
return summary;
