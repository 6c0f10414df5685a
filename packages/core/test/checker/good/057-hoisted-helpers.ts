// style: newspaper order, functions used before they are defined
const issues = await openIssues('acme/app');
return render(issues);

async function openIssues(repo) {
  const { issues } = await tools.github.listIssues({ repo, perPage: 10 });
  return issues;
}

function render(issues) {
  return issues.map(line).join('\n');
}

function line({ number, title, labels = [] }) {
  return `${pad(number)} ${title}${labels.length ? ` [${labels.join(' ')}]` : ''}`;
}

function pad(n) {
  return String(n).padStart(4, '0');
}
