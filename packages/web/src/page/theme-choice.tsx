import { useEffect, useState } from 'react';

type Theme = 'auto' | 'light' | 'dark';

const KEY = 'toolscript-theme';

/** Lets the user choose light, dark, or the setting of the system. The choice is stored in this browser. */
export function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(() => (localStorage.getItem(KEY) as Theme | null) ?? 'auto');
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
    localStorage.setItem(KEY, theme);
  }, [theme]);
  return (
    <select
      className="theme"
      aria-label="Colours"
      value={theme}
      onChange={(event) => setTheme(event.target.value as Theme)}
    >
      <option value="auto">Auto</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}
