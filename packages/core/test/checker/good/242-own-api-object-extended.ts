// style: own api object extended
const api = { get(args) { return tools.getWeather(args); } };
api.forecast = (args) => tools.getForecast(args);
return (await api.forecast({ city: 'Oslo', days: 1 })).days.length;
