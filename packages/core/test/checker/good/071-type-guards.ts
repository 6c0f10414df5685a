// style: over-typed TypeScript
interface FlagSettings {
  theme: string;
  flags: Record<string, boolean>;
}

function isFlagSettings(value: unknown): value is FlagSettings {
  return (
    typeof value === 'object' &&
    value !== null &&
    'theme' in value &&
    typeof (value as { theme: unknown }).theme === 'string' &&
    'flags' in value
  );
}

const candidates: unknown[] = await Promise.all(['settings', 'counter', 'none'].map((key) => tools.kv.get({ key })));
const settings = candidates.filter(isFlagSettings);
return settings.map(({ theme, flags }) => ({ theme, on: Object.keys(flags).filter((name) => flags[name]) }));
