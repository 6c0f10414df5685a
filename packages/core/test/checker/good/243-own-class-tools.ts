// style: own class tools
class Tools { constructor() { this.calls = 0; } async read(filePath) { this.calls++; return (await tools.readFile({ filePath })).content; } }
const t = new Tools();
await t.read('README.md');
return t.calls;
