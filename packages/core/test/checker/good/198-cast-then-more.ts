// style: cast then more
const w = (await tools.getWeather({ city: 'Oslo' })) as { celsius: number }; return w.condition;
