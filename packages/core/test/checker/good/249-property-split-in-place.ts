// style: property split in place
const user = { name: 'Ada', tags: 'a,b,c' };
user.tags = user.tags.split(',');
return user.tags.map((t) => t.toUpperCase());
