// style: recursion
const paths = [];
function walk(node, path) {
  if (node !== null && typeof node === 'object') {
    for (const key in node) walk(node[key], path ? path + '.' + key : key);
  } else {
    paths.push(path + '=' + node);
  }
}
const { content } = await tools.readFile({ filePath: 'config/app.json' });
walk(JSON.parse(content));
return paths;
