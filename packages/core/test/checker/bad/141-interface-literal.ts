// line: 21
// about: assigned
// may: warn
interface Ticket {
  key: string;
  title: string;
  assignee?: string;
  points: number;
}

const { issues } = await tools.jira.search_issues({ project: ['OPS', 'WEB'], max_results: 20 });
const tickets: Ticket[] = issues.map((issue) => ({
  key: issue.key,
  title: issue.summary,
  assignee: issue.assignee?.name,
  points: issue.points ?? 0,
}));

const perPerson: Record<string, number> = {};
for (const ticket of tickets) {
  const who = ticket.assigned ?? 'nobody';
  perPerson[who] = (perPerson[who] ?? 0) + ticket.points;
}
return perPerson;
