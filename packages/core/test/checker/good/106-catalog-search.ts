// style: discovery
const found = await catalog.search('weather of a city', { limit: 3 });
const names = found.map((tool) => tool.name);
const declaration = names.includes('getWeather') ? await catalog.describe('getWeather') : '';
const all = await catalog.list();
return { hasWeather: names.includes('getWeather'), told: declaration.includes('celsius'), many: all.length > 30 };
