import { z } from 'zod';
import { PrivateJsonFile } from '../storage/private-json.js';

/** The user's trust in one server. */
export interface TrustEntry {
  /** The identity of the server: another program or address under the same name is another server. */
  readonly server: string;
  /** The fingerprint of each tool, by the server's own name of it. */
  readonly tools: Readonly<Record<string, string>>;
}

/** Stores which tools of which servers the user trusts. */
export interface TrustStore {
  /** Undefined: no server of this name is known. */
  read(server: string): Promise<TrustEntry | undefined>;
  /** Replaces what is known of a server. Changes of several processes follow one another, and none is lost. */
  update(server: string, change: (entry: TrustEntry | undefined) => TrustEntry): Promise<void>;
}

/** Keeps trust for the life of the process. */
export function memoryTrustStore(): TrustStore {
  const entries = new Map<string, TrustEntry>();
  return {
    read: async (server) => entries.get(server),
    update: async (server, change) => void entries.set(server, change(entries.get(server))),
  };
}

/** Lists, because a server may have a tool whose name is not a safe member, such as `__proto__`. */
const FileSchema = z.strictObject({
  version: z.literal(1),
  servers: z.array(
    z.strictObject({
      name: z.string(),
      server: z.string(),
      tools: z.array(z.strictObject({ name: z.string(), sha256: z.string() })),
    }),
  ),
});

type TrustFile = z.infer<typeof FileSchema>;

/**
 * Keeps trust in a JSON file for its owner alone (0600). A file that cannot be read trusts nothing: every operation
 * rejects with a `ToolscriptUsageError` that names it.
 */
export function fileTrustStore(path: string): TrustStore {
  const file = new PrivateJsonFile(path, {
    schema: FileSchema,
    empty: { version: 1, servers: [] },
    advice: 'Delete it to trust the MCP servers again.',
  });
  const entryIn = ({ servers }: TrustFile, server: string): TrustEntry | undefined => {
    const entry = servers.find(({ name }) => name === server);
    return entry && { server: entry.server, tools: hashesByName(entry.tools) };
  };
  return {
    read: async (server) => entryIn(await file.read(), server),
    update: (server, change) =>
      file.update((content) => {
        const { version, servers } = content;
        const entry = change(entryIn(content, server));
        const others = servers.filter(({ name }) => name !== server);
        const tools = Object.entries(entry.tools).map(([name, sha256]) => ({ name, sha256 }));
        return { version, servers: [...others, { name: server, server: entry.server, tools }] };
      }),
  };
}

function hashesByName(tools: TrustFile['servers'][number]['tools']): Record<string, string> {
  return Object.fromEntries(tools.map(({ name, sha256 }) => [name, sha256]));
}
