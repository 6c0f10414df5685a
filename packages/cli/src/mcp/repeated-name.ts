/** A string, or one of the characters that give JSON its structure. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/gsu;

/**
 * The first name that occurs twice in the servers of a configuration: JSON.parse would silently drop the first one.
 * `text` is valid JSON.
 */
export function repeatedName(text: string): { name: string; line: number } | undefined {
  const path: string[] = [];
  const seen = new Set<string>();
  let last = '';
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') path.push(last);
    else if (token === '}' || token === ']') path.pop();
    const isName = token === ':' && path.length === 2 && (path[1] === 'mcpServers' || path[1] === 'servers');
    if (isName && seen.has(last)) return { name: last, line: text.slice(0, index).split('\n').length };
    if (isName) seen.add(last);
    last = token.startsWith('"') ? (JSON.parse(token) as string) : token === ':' ? last : '';
  }
  return undefined;
}
