// style: wrapper object param
async function weather(args: object) { return tools.getWeather(args); }
return (await weather({ city: 'Oslo' })).celsius;
