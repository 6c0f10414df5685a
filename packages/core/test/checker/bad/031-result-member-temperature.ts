// line: 6
// about: temperature
const cities = ['Oslo', 'Lima', 'Cairo'];
const reports = await Promise.all(cities.map((city) => tools.getWeather({ city })));
// Which one is the hottest?
const hottest = reports.reduce((a, b) => (b.temperature > a.temperature ? b : a));
return hottest.city;
