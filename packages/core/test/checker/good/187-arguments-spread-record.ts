// style: arguments spread record
const base: Record<string, string> = { city: 'Oslo' };
return (await tools.getWeather({ ...base, units: 'metric' })).celsius;
