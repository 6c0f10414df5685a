export const VERSIONS: Readonly<Record<string, string>>;
