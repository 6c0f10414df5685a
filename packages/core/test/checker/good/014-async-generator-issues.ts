// style: over-typed TypeScript
type Issue = Awaited<ReturnType<typeof tools.github.getIssue>>;

async function* allIssues(repo: string): AsyncGenerator<Issue, void, undefined> {
  let page: number | null = 1;
  while (page !== null) {
    const result = await tools.github.listIssues({ repo, state: 'all', page });
    for (const issue of result.issues) yield issue;
    page = result.nextPage;
  }
}

const labels: Record<string, number> = {};
for await (const issue of allIssues('acme/app')) {
  for (const label of issue.labels) labels[label] = (labels[label] ?? 0) + 1;
}
return labels;
