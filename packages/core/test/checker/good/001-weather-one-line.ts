// style: terse
return (await tools.getWeather({ city: 'Oslo' })).celsius;
