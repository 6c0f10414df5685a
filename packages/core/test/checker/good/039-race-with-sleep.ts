// style: terse
const winner = await Promise.race([
  tools.getWeather({ city: 'Oslo' }).then((w) => w.city),
  sleep(2000).then(() => 'too slow'),
]);
return winner;
