// line: 13
// about: titel
// Get the first issue, then its details, then build the message.
return tools.github
  .listIssues({ repo: 'acme/app', labels: ['bug'] })
  .then((list) => {
    const [first] = list.issues;
    if (!first) throw new Error('no bugs, hooray');
    return tools.github.getIssue({ repo: 'acme/app', number: first.number });
  })
  .then((issue) => {
    const author = issue.author.login;
    const summary = issue.titel.trim();
    return { author, summary, labels: issue.labels.join(', ') };
  })
  .catch((error) => ({ error: error.message }));
