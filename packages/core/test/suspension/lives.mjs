// The actions of a process in a script's life: `life.mjs` runs one of them in a separate process. Every effect appends
// one line to FOLDER/effects before anything else can happen. A call with `hang` ends only if FOLDER/go exists.
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createHarness, defineTool, fileStore, listScripts } from '../../dist/index.js';

const any = { type: 'object', additionalProperties: true };

/**
 * Does one action with the scripts of a folder. Returns its outcome if it has one; `tell` gets the end of every script of
 * the others. `threads`: the options of a harness for its sandbox and its compiler.
 */
export async function live(folder, action, options, tell, threads) {
  const store = slow(fileStore(join(folder, 'store')), options.slowMs ?? 0);
  const harness = createHarness({
    tools: toolsOf(folder),
    suspensionKey: 'a secret of more than thirty-two bytes',
    typecheck: 'off',
    ...threads,
    store,
    ...(options.approvals === undefined ? {} : { approvals: options.approvals }),
  });
  const told = ({ scriptId, status, operations, error }) => tell({ scriptId, status, operations, error });
  try {
    return await ACTIONS[action]({ folder, store, harness, options, tell: told });
  } finally {
    await harness.close();
  }
}

function toolsOf(folder) {
  const tool = (name, effect, approval) =>
    defineTool({
      name,
      description: name,
      effect,
      approval,
      inputSchema: any,
      async execute(input, { idempotencyKey }) {
        if (effect !== 'read')
          appendFileSync(join(folder, 'effects'), `${idempotencyKey} ${name} ${JSON.stringify(input)}\n`);
        if (input.ms !== undefined) await delay(input.ms);
        if (input.hang === true && !existsSync(join(folder, 'go'))) await delay(60_000);
        return { name, ...input };
      },
    });
  return [tool('read', 'read', 'never'), tool('mark', 'write', 'never'), tool('note', 'external', 'always')];
}

const ACTIONS = {
  run: ({ harness, options }) => harness.runScript(options.source),
  async resume({ harness, options }) {
    const { suspension, pendingApprovals } = await harness.inspect(options.id);
    const decide = ({ approvalId }, index) => [approvalId, options.decisions[index] ?? options.decisions[0]];
    return harness.resume(suspension, Object.fromEntries(pendingApprovals.map(decide)));
  },
  recover: ({ harness, options }) => harness.recover(options.id),
  replay: ({ harness, options }) => harness.replay(options.id),
  async 'run-all'({ harness, options, tell }) {
    await Promise.all(options.sources.map((source) => harness.runScript(source).then(tell)));
  },
  async 'finish-all'(life) {
    await Promise.all((await listScripts(life.store)).map(({ scriptId }) => finish(life, scriptId)));
  },
  /** Recovers every script without a holder, soon, until a file STOP exists. */
  async watch(life) {
    while (!existsSync(join(life.folder, 'STOP'))) {
      const scripts = await listScripts(life.store);
      const open = scripts.filter(({ state }) => state === 'interrupted' || state === 'running');
      await Promise.all(open.map(({ scriptId }) => finish(life, scriptId)));
      await delay(5);
    }
  },
};

/** A store whose operations each take `ms`. */
function slow(store, ms) {
  if (ms === 0) return store;
  const late = (port) =>
    new Proxy(port, {
      get: (target, name) => {
        const member = target[name];
        return typeof member !== 'function'
          ? member
          : async (...args) => {
              await delay(ms);
              return member.apply(target, args);
            };
      },
    });
  return { claim: late(store.claim), journal: late(store.journal), images: late(store.images) };
}

/** Waits for the script's end, without a time limit. */
async function finish({ harness, tell }, id) {
  let outcome = await harness.recover(id);
  while (outcome.status === 'suspended') {
    tell(outcome);
    const { suspension, pendingApprovals } = await harness.inspect(id);
    const decisions = pendingApprovals.map(({ approvalId }) => [approvalId, 'approve']);
    outcome = await harness.resume(suspension, Object.fromEntries(decisions));
  }
  tell(outcome);
}
