// style: destructure map default missing
return (await tools.listUsers({})).map(({ name, title = 'n/a' }) => `${name} ${title}`);
