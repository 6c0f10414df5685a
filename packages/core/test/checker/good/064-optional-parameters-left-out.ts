// style: plain JavaScript
function format(value, digits, unit) {
  const number = value.toFixed(digits || 0);
  return unit ? number + ' ' + unit : number;
}
const { mean, max } = await tools.stats.describe({ values: [1, 2, 3.5] });
return [format(mean), format(mean, 2), format(max, 1, 'ms')];
