/**
 * The tools that every contender offers to its scripts, as plain functions. `echo` answers at once, `wait`
 * after `ms` milliseconds.
 */
export const TOOLS = {
  echo: async ({ i }) => ({ i }),
  wait: ({ ms }) => new Promise((resolve) => setTimeout(() => resolve({ ms }), ms)),
};

/** Calls a tool with JSON text, for contenders whose tools take JSON text. */
export async function callWithJson(name, argsJson) {
  return JSON.stringify(await TOOLS[name](JSON.parse(argsJson)));
}

/**
 * A contender. `open` creates a session with the given number of worker threads; `run` resolves to the script's value
 * and rejects if the script failed.
 *
 * @typedef {object} Contender
 * @property {string} name
 * @property {'ours' | 'part' | 'peer'} role `part` is a part of Toolscript, measured alone.
 * @property {string} version
 * @property {string} note How it is used here.
 * @property {(options: { workers: number }) => Promise<Session>} open
 *
 * @typedef {object} Session
 * @property {(source: string) => Promise<unknown>} run
 * @property {() => Promise<void>} close
 */
