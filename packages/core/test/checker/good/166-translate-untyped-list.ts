// style: plain JavaScript
const langs = ['de', 'fr'];
const out = {};
for (const to of langs) {
  const t = await tools.translate({ text: 'Thanks', to, from: 'en' });
  out[to] = t.text;
  out.detected = t.detected || 'given';
}
return out;
