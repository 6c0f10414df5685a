// line: 6
// about: celsius
// may: warn
const w = await tools.getWeather({ city: 'Oslo' });
const fahrenheit = w.celsius * 1.8 + 32;
w.fahrenheit = fahrenheit;
return w;
