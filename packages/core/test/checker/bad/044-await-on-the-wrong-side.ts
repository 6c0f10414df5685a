// line: 3
// about: celsius
const celsius = await tools.getWeather({ city: 'Quito' }).celsius;
return celsius > 10 ? 'warm' : 'cold';
