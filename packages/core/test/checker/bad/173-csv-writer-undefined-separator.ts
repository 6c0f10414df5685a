// line: 7
// about: separator
const { rows, columns } = await tools.runSql({ query: 'select * from orders' });

function toCsv(rows, columns, delimiter = ',') {
  const head = columns.join(delimiter);
  const body = rows.map((row) => columns.map((name) => JSON.stringify(row[name])).join(separator));
  return [head, ...body].join('\n');
}

const csv = toCsv(rows, columns, ';');
const { written } = await tools.writeFile({ filePath: 'orders.csv', content: csv });
return written;
