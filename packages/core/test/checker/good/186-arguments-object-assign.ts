// style: arguments object assign
const args = {};
Object.assign(args, { city: 'Oslo' });
return (await tools.getWeather(args)).celsius;
