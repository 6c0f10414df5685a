// line: 3,4
// about: require
const fs = require('fs');
const path = require('path');

const root = context.workingDirectory;
const files = fs.readdirSync(root).filter((name) => path.extname(name) === '.json');
const sizes = files.map((name) => fs.statSync(path.join(root, name)).size);
return sizes.reduce((a, b) => a + b, 0);
