export function publishedManifest(name: string): string | undefined;
export function packageNames(): string[];
