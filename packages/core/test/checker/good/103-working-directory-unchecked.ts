// style: terse
const folder = context.workingDirectory.split('/').pop();
const { size } = await tools.readFile({ filePath: 'package.json' });
return `${folder}: ${size}`;
