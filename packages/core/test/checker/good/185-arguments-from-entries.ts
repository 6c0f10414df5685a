// style: arguments from entries
const args = Object.fromEntries([['city', 'Oslo']]);
return (await tools.getWeather(args)).celsius;
