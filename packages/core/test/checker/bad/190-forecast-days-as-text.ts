// line: 6
// about: number
const options = { city: 'Lima', unit: 'celsius' };
const length = '5';

const forecast = await tools.getForecast({ city: options.city, days: length });
const highs = forecast.days.map((day) => day.high);
return { city: forecast.city, hottest: Math.max(...highs) };
