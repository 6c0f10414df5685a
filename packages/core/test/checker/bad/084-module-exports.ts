// line: 7
// about: module
async function run() {
  const { celsius } = await tools.getWeather({ city: 'Oslo' });
  return celsius;
}
module.exports = { run };
