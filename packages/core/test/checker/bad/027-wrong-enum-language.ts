// line: 6
// about: german
const lines = ['Good morning', 'See you soon'];
const translated = [];
for (const line of lines) {
  const { text: done } = await tools.translate({ text: line, to: 'german' });
  translated.push(done);
}
return translated;
