// style: plain JavaScript
const { mean } = await tools.stats.describe({ values: [3, 4, 4.4] });
const rounded = parseInt(mean);
const asText = parseFloat(mean).toFixed(1);
const flag = isNaN(mean) ? 'bad' : 'ok';
return { rounded, asText, flag, joined: [1, 2, 3].join(0) };
