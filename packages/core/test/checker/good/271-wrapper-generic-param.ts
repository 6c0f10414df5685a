// style: wrapper generic param
async function weather<T>(args: T) { return tools.getWeather(args); }
return (await weather({ city: 'Oslo' })).celsius;
