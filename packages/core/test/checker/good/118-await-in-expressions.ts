// style: terse
const sum = (await tools.calculate({ expression: '1 + 2' })).result + (await tools.calculate({ expression: '3 * 4' })).result;
const label = (await tools.stat({ filePath: 'nope' })).exists ? 'there' : (await tools.translate({ text: 'gone', to: 'fr' })).text;
return `${sum} ${label} ${[...(await tools.kv.list({})).keys].sort()[0]}`;
