// line: 4
// about: content
const file = tools.readFile({ filePath: 'package.json' });
const pkg = JSON.parse(file.content);
return pkg.name;
