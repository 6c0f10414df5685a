// line: 3
// about: argument
const comment = await tools.github.addComment({ repo: 'acme/app', number: 1, body: 'Hi' }, { silent: true });
return comment.id;
