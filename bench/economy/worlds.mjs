import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { defineTool } from '@toolscript/core';
import { codingTools } from '@toolscript/tools';

/** The system text of an agent on a folder. */
export const CODING_ROLE = 'You are a coding agent in a folder. Use the tools. Be brief.';

/**
 * The environment of a task, created for every run.
 *
 * @typedef {object} World
 * @property {object[]} tools
 * @property {() => unknown} state The state that the task may change, for a comparison with the expected one.
 * @property {() => void} close
 */

/**
 * A real folder with the coding tools on it. The state is its files, by path.
 *
 * @param {Record<string, string>} files
 * @param {{ exec?: boolean }} [options] `exec`: commands too. They run outside of the OS sandbox, because some machines have none.
 * @returns {() => World}
 */
export function folderWorld(files, { exec = false } = {}) {
  return () => {
    const folder = mkdtempSync(join(tmpdir(), 'toolscript-bench-economy-'));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return {
      tools: codingTools({ roots: folder, exec: exec ? { sandbox: 'off' } : false }),
      state: () => filesIn(folder),
      close: () => rmSync(folder, { recursive: true, force: true }),
    };
  };
}

function filesIn(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(paths.sort().map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]));
}

/**
 * Tools in this process that answer at once. `open` creates their state, an object, and the tools' functions over it.
 *
 * @param {() => { state?: object, tools: object[] }} open `tools`: the options of `defineTool`, with `effect` if it is
 * not `read`.
 * @returns {() => World}
 */
export function serviceWorld(open) {
  return () => {
    const { state = {}, tools } = open();
    return {
      tools: tools.map((tool) => defineTool({ effect: 'read', approval: 'never', ...tool })),
      state: () => structuredClone(state),
      close: () => {},
    };
  };
}
