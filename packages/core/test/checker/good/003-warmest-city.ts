// style: functional
const cities = ['Oslo', 'Lima', 'Cairo', 'Quito'];
const reports = await Promise.all(cities.map((city) => tools.getWeather({ city })));
const warmest = reports.reduce((a, b) => (b.celsius > a.celsius ? b : a));
return { city: warmest.city, celsius: warmest.celsius, alerts: warmest.alerts ?? [] };
