// style: terse
const gh = tools.github;
const { contacts, deals } = tools.crm;
const repo = 'acme/app';
const { number, url } = await gh.createIssue({ repo, title: 'Follow up', labels: ['sales'] });
const won = (await deals.list({ stage: 'won' })).deals;
const who = await contacts.get({ id: won[0].contactId });
const comment = await gh.addComment({ repo, number, body: `Owner: ${who.name}` });
return { number, url, comment: comment.id };
