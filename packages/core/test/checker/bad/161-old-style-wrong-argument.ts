// line: 6
// about: filepath
var out = [];
var paths = ['README.md', 'src/index.ts'];
for (var i = 0; i < paths.length; i++) {
  var info = await tools.stat({ filepath: paths[i] });
  if (info.exists) {
    out.push(paths[i] + ' (' + info.size + ')');
  }
}
return out.join('; ');
