// line: 6
// about: await
// may: warn
const city = 'Lima';
const weather = tools.getWeather({ city });
text(`It is ${tools.now()} now`);
return (await weather).celsius;
