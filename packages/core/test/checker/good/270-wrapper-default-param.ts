// style: wrapper default param
async function weather(args = {}) { return (await tools.getWeather(args)).celsius; }
return weather({ city: 'Oslo' });
