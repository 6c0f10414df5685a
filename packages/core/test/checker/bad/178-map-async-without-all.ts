// line: 9
// about: celsius
const cities = ['Oslo', 'Lima', 'Cairo', 'Quito'];
const reports = cities.map(async (city) => {
  const report = await tools.getWeather({ city });
  return { city, celsius: report.celsius };
});

const warm = reports.filter((report) => report.celsius > 15);
return warm.length;
