import { freeze } from '../primordials.js';
import { send } from './calls.js';
import { toText } from './captured.js';

const ask = (question: object): Promise<unknown> => send('"$catalog"', question, true);

export const catalog = freeze({
  __proto__: null,
  search: freeze((query: unknown, options?: { limit?: unknown }) => {
    const limit = options?.limit;
    return ask({ what: 'search', query: toText(query), limit: limit === undefined ? undefined : +(limit as number) });
  }),
  describe: freeze((name: unknown) => ask({ what: 'describe', name: toText(name) })),
  list: freeze((namespace: unknown) =>
    ask({ what: 'list', namespace: namespace === undefined ? undefined : toText(namespace) }),
  ),
});
