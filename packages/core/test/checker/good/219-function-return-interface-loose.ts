// style: function return interface loose
interface Weather { celsius: number } async function get(city: string): Promise<Weather> { return tools.getWeather({ city }); } return (await get('Oslo')).wind.speed;
