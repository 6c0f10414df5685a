// line: 7
// about: readJSON
var names = ['config/app.json', 'package.json'];
var loaded = {};

function remember(name) {
  return tools.readJSON({ filePath: name }).then(function (value) {
    loaded[name] = value;
  });
}

for (var i = 0; i < names.length; i++) {
  await remember(names[i]);
}
return Object.keys(loaded).length;
