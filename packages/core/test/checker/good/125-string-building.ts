// style: plain JavaScript
let out = '';
const { days } = await tools.getForecast({ city: 'Quito', days: 4 });
days.forEach((d, i) => {
  out += d.date.slice(5) + ' ' + '#'.repeat(d.high) + (d.rain ? ' rain ' + d.rain * 100 + '%' : '') + (i < days.length - 1 ? '\n' : '');
});
return out;
