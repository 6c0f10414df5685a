// style: reflective
const wanted = ['getWeather', 'getTraffic', 'get-user', 'get_user', 'readFile'];
const present = wanted.filter((name) => name in tools);
return { present, hasTraffic: 'getTraffic' in tools, crm: 'crm' in tools };
