// style: encodes with Buffer
const { content } = await tools.readFile({ filePath: 'README.md' });
const encoded = Buffer.from(content).toString('base64');
return encoded.length;
