// line: 4
// about: await
const cities = ['Oslo', 'Lima', 'Quito'];
cities.sort((a, b) => (await tools.getWeather({ city: a })).celsius - (await tools.getWeather({ city: b })).celsius);
return cities;
