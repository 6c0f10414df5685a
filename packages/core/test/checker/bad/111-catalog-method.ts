// line: 3
// about: find
const found = await catalog.find('weather', { limit: 3 });
return found.map((tool) => tool.name);
