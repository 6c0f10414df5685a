// line: 4
// about: print
const { celsius, condition } = await tools.getWeather({ city: 'Quito' });
print(`${celsius} and ${condition}`);
return celsius;
