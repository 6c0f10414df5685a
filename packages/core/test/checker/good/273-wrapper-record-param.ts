// style: wrapper record param
async function weather(args: Record<string, unknown>) { return tools.getWeather(args); }
return (await weather({ city: 'Oslo' })).celsius;
