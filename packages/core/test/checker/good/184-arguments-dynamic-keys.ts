// style: arguments dynamic keys
const args = {};
for (const [k, v] of [['city', 'Oslo'], ['units', 'metric']]) args[k] = v;
return (await tools.getWeather(args)).celsius;
