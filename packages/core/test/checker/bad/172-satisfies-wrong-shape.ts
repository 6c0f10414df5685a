// line: 16
// about: colour
type Theme = { name: string; color: string };

const settings = await tools.kv.get({ key: 'settings' });
const themes: Theme[] = [
  { name: 'dark', color: '#222' },
  { name: 'light', color: '#eee' },
];

const current = themes.find((theme) => theme.name === settings.theme) ?? { name: 'none', color: '#888' };
const css = `body { background: ${color(current)}; }`;
return css;

function color(theme: Theme): string {
  return theme.colour.toUpperCase();
}
