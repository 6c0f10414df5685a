// style: functional
const mirrors = ['nowhere', 'Atlantis', 'Lima'];
const first = await Promise.any(mirrors.map((city) => tools.getWeather({ city })));
let aggregate;
try {
  await Promise.any(mirrors.slice(0, 2).map((city) => tools.getWeather({ city })));
} catch (e) {
  aggregate = { name: e.name, errors: e.errors.length };
}
return { city: first.city, aggregate };
