// line: 3
// about: argument
const forecast = await tools.getForecast();
return forecast.days.map((d) => d.high);
