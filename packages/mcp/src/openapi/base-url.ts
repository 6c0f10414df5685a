import { isRecord } from '@toolscript/core/internal-data';
import { oneLine } from '../connection/readable.js';
import { unusable, type ApiDocument } from './document.js';

/**
 * The address of the API. The user names its origin, with `baseUrl` or with the address of the document: a document
 * alone never decides where requests and credentials go. `from`: the address of the document. Throws a ConnectError if the user has to name it.
 */
export function apiBase({ content }: ApiDocument, from: string | undefined, baseUrl: string | undefined): URL {
  if (baseUrl !== undefined) return new URL(baseUrl);
  const servers = serverUrls(content['servers']);
  const usable = servers.filter((server) => URL.canParse(server, from)).map((server) => new URL(server, from));
  // defence: openapi-servers-are-named-by-the-user
  const own = usable.find(({ origin }) => from !== undefined && origin === new URL(from).origin);
  if (own !== undefined) return own;
  if (servers.length === 0 && from !== undefined) return new URL('/', from);
  const [named] = usable;
  throw unusable(
    named === undefined
      ? 'it names no server; add "baseUrl", the address of the API'
      : `it names the server ${oneLine(named.origin, 200)}, which you have not named; if requests may go there, add "baseUrl": ${JSON.stringify(oneLine(named.href, 300))}`,
  );
}

/** The addresses of the document's servers, with the defaults of their variables. */
function serverUrls(servers: unknown): string[] {
  return (Array.isArray(servers) ? (servers as unknown[]) : []).flatMap((server) => {
    if (!isRecord(server) || typeof server['url'] !== 'string') return [];
    const variables = isRecord(server['variables']) ? server['variables'] : {};
    return server['url'].replaceAll(/\{([^{}]+)\}/gu, (whole, name: string) => {
      const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
      return isRecord(variable) ? String(variable['default'] ?? whole) : whole;
    });
  });
}
