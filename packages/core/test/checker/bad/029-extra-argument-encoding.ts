// line: 3
// about: encoding
const { content } = await tools.readFile({ filePath: 'data/sales.csv', encoding: 'utf-8' });
const [header, ...rows] = content.trim().split('\n');
return { header, rows: rows.length };
