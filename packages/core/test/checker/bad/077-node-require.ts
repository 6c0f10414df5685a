// line: 3
// about: require
const path = require('path');
const { entries } = await tools.listDir({ recursive: true });
return entries.filter((e) => path.extname(e.name) === '.ts').length;
