// style: defensive, unsure of names
const res = await tools.getWeather({ city: 'Oslo' });
const temperature = (res as any).temperature ?? (res as any).temp ?? res.celsius;
const r: any = res;
const wind = r.windSpeed || r.wind_speed || (r.wind && r.wind.speed) || 0;
const rec = res as Record<string, any>;
return { temperature, wind, humidity: rec.humidity ?? null, keys: Object.keys(rec).sort() };
