// line: 3
// about: body
const { body, labels } = await tools.readFile({ filePath: 'README.md' });
return { length: body.length, labels };
