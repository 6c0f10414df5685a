// style: then chains
return tools
  .readFile({ filePath: 'package.json' })
  .then((file) => JSON.parse(file.content))
  .then((pkg) => Object.keys(pkg.dependencies))
  .then((names) => names.join(', '))
  .catch((err) => 'failed: ' + err.message)
  .finally(() => console.log('done'));
