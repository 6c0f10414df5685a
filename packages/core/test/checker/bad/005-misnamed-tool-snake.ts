// line: 6
// about: get_weather
const cities = ['Oslo', 'Lima'];
const out = {};
for (const city of cities) {
  const w = await tools.get_weather({ city });
  out[city] = w.celsius;
}
return out;
