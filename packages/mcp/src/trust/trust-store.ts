import { z } from 'zod';
import { PrivateJsonFile } from '@toolscript/core/internal';

/** The user's trust in one server. */
export interface TrustEntry {
  /** The fingerprint of the server's program or address. A name has one entry for each fingerprint that it has had. */
  readonly server: string;
  /** The fingerprint of each tool, by the server's own name of the tool. */
  readonly tools: Readonly<Record<string, string>>;
}

/** Stores which tools of which servers the user trusts. */
export interface TrustStore {
  /** The entries of a server's name. Empty if no server of this name is known. */
  read(name: string): Promise<readonly TrustEntry[]>;
  /** Replaces the entries of a name. Changes of several processes follow one another, and none is lost. */
  update(name: string, change: (entries: readonly TrustEntry[]) => readonly TrustEntry[]): Promise<void>;
}

/** Keeps trust for the life of the process. */
export function memoryTrustStore(): TrustStore {
  const known = new Map<string, readonly TrustEntry[]>();
  const read = (name: string) => known.get(name) ?? [];
  return {
    read: async (name) => read(name),
    update: async (name, change) => void known.set(name, change(read(name))),
  };
}

/** Tools are stored as a list, because a tool may have a name that is not a safe member name, such as `__proto__`. */
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
 * Keeps trust in a JSON file that only its owner can read and write (0600). If the file cannot be read, nothing is
 * trusted: every operation rejects with a `ToolscriptUsageError` that names the file.
 */
export function fileTrustStore(path: string): TrustStore {
  const file = new PrivateJsonFile(path, {
    schema: FileSchema,
    empty: { version: 1, servers: [] },
    advice: 'Delete it to trust the MCP servers again.',
  });
  return {
    read: async (name) => entriesIn(await file.read(), name),
    update: (name, change) =>
      file.update((content) => {
        const { version, servers } = content;
        const others = servers.filter((entry) => entry.name !== name);
        const changed = change(entriesIn(content, name));
        return { version, servers: [...others, ...changed.map((entry) => storedEntry(name, entry))] };
      }),
  };
}

function entriesIn({ servers }: TrustFile, name: string): TrustEntry[] {
  return servers
    .filter((entry) => entry.name === name)
    .map(({ server, tools }) => ({ server, tools: hashesByName(tools) }));
}

function storedEntry(name: string, { server, tools }: TrustEntry): TrustFile['servers'][number] {
  return { name, server, tools: Object.entries(tools).map(([tool, sha256]) => ({ name: tool, sha256 })) };
}

function hashesByName(tools: TrustFile['servers'][number]['tools']): Record<string, string> {
  return Object.fromEntries(tools.map(({ name, sha256 }) => [name, sha256]));
}
