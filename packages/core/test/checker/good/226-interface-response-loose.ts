// style: interface response loose
interface Weather { celsius: number } const w: Weather = await tools.getWeather({ city: 'Oslo' }); return `${w.celsius} ${w.condition}`;
