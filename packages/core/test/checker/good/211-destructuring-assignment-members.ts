// style: destructuring assignment members
const p = { name: 'x' };
[p.a, p.b] = [1, 2];
({ city: p.city } = await tools.getWeather({ city: 'Oslo' }));
return [p.a, p.b, p.city];
