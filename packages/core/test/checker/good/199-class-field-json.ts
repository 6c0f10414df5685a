// style: class field json
class Store { data = ''; async load() { this.data = JSON.parse((await tools.readFile({ filePath: 'package.json' })).content); return this.data.name; } }
return new Store().load();
