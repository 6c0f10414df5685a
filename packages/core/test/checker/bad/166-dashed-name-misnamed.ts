// line: 4
// about: list_prs
// Reviewers with more than one open pull request.
const { prs } = await tools.list_prs({ repo: 'acme/app' });
const counts = {};
for (const pr of prs) {
  for (const reviewer of pr.reviewers) {
    counts[reviewer] = (counts[reviewer] || 0) + 1;
  }
}
return Object.keys(counts).filter((name) => counts[name] > 1);
