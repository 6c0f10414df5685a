// line: 5
// about: await
const city = 'Lima';
const weather = tools.getWeather({ city });
text(`It is ${tools.now()} now`);
return (await weather).celsius;
