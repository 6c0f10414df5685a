// style: over-typed TypeScript, loose where it calls
const base: Record<string, any> = { repo: 'acme/app' };
const filters: Partial<{ labels: string[]; state: 'open' | 'closed' | 'all' }> = { state: 'all', labels: ['bug'] };
const list = await tools.github.listIssues({ ...base, ...filters } as any);
const params = { ...base, number: list.issues[0].number } as { repo: string; number: number };
const issue = await tools.github.getIssue(params);
return `${issue.title} (${list.totalCount})`;
