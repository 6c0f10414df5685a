// style: settled helper sum
const [a, b] = await Promise.allSettled([tools.getWeather({ city: 'Oslo' }), tools.getWeather({ city: 'Atlantis' })]); return [a.value.celsius, b.reason.message];
