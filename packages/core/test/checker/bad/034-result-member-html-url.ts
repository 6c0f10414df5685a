// line: 8
// about: html_url
const created = await tools.github.createIssue({
  repo: 'acme/app',
  title: 'Nightly build is red',
  labels: ['bug'],
});
console.log(`Created ${created.html_url}`);
return created.number;
