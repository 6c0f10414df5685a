// line: 5
// about: days
const week = [];
for (const city of ['Oslo', 'Cairo']) {
  const forecast = await tools.getForecast({ city });
  week.push({ city, highs: forecast.days.map((d) => d.high) });
}
return week;
