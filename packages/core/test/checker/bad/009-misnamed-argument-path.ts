// line: 4
// about: path
// Reads the package file and returns its version.
const file = await tools.readFile({ path: 'package.json' });
const pkg = JSON.parse(file.content);
return pkg.version;
