// line: 5
// about: nexpected
const { exists } = await tools.stat({ filePath: 'a.txt' });
if (exists) console.log('there'); console.log('really');
else console.log('missing');
return exists;
