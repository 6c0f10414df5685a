// style: plain JavaScript, null counts as zero
const { days } = await tools.getForecast({ city: 'Oslo', days: 7 });
let rain = 0;
for (const day of days) rain += day.rain;
const wet = days.filter((day) => day.rain > 0.2).map((day) => day.date);
const range = days.map((d) => d.high - d.low);
return { rain: Math.round(rain * 10) / 10, wet, range };
