// line: 4
// about: fetch
async function getJson(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error('HTTP ' + response.status);
  return response.json();
}
const data = await getJson('https://shop.example/items');
return data.items.length;
