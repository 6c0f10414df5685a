// line: 7
// about: string
const places = [
  { name: 'Oslo', country: 'NO' },
  { name: 'Lima', country: 'PE' },
];
const reports = await Promise.all(places.map((place) => tools.getWeather({ city: place })));
return reports.map((r) => `${r.city}: ${r.celsius}`);
