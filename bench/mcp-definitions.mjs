export const SERVERS = 10;
export const TOOLS_OF_SERVER = 100;

const VERBS = ['list', 'get', 'create', 'update', 'delete', 'search', 'move', 'copy', 'export', 'archive'];
const NOUNS = ['issue', 'branch', 'file', 'page', 'user', 'invoice', 'ticket', 'channel', 'message', 'event'];

/** A hundred definitions of tools in the style of servers. */
export function definitionsOf(server) {
  return Array.from({ length: TOOLS_OF_SERVER }, (_, index) => {
    const [verb, noun] = [VERBS[index % VERBS.length], NOUNS[Math.floor(index / VERBS.length)]];
    return {
      name: `${verb}_${noun}s`,
      description: `${verb} ${noun}s of workspace ${server}. Returns up to 100 at once; use the cursor for more.`,
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: `What the ${noun}s are about` },
          since: { type: 'string', description: 'Only those that were changed since this ISO date' },
          cursor: { type: 'string', description: 'Where the page before ended' },
          limit: { type: 'integer', description: 'How many to return', minimum: 1, maximum: 100 },
        },
        required: ['query'],
      },
    };
  });
}
