// One process of a script's life, for the tests: node life.mjs FOLDER ACTION [JSON]. Every effect appends one line
// to FOLDER/effects before anything else can happen. Prints one JSON line; a PAUSE file makes effects slow.
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createHarness, defineTool, fileStore, listScripts } from '../../dist/index.js';

const [folder, action, json = '{}'] = process.argv.slice(2);
const options = JSON.parse(json);
const any = { type: 'object', additionalProperties: true };

function tool(name, effect, approval) {
  return defineTool({
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
}

const store = slow(fileStore(join(folder, 'store')), options.slowMs ?? 0);
const harness = createHarness({
  tools: [tool('read', 'read', 'never'), tool('mark', 'write', 'never'), tool('note', 'external', 'always')],
  suspensionKey: 'a secret of more than thirty-two bytes',
  typecheck: 'off',
  workers: { size: 1 },
  store,
  ...(options.approvals === undefined ? {} : { approvals: options.approvals }),
});

const outcome = await act();
if (outcome !== undefined) console.log(JSON.stringify(outcome));
await harness.close();

async function act() {
  switch (action) {
    case 'run':
      return harness.runScript(options.source);
    case 'resume': {
      const { suspension, pendingApprovals } = await harness.inspect(options.id);
      const decide = ({ approvalId }, index) => [approvalId, options.decisions[index] ?? options.decisions[0]];
      return harness.resume(suspension, Object.fromEntries(pendingApprovals.map(decide)));
    }
    case 'recover':
      return harness.recover(options.id);
    case 'run-all':
      await Promise.all(options.sources.map((source) => harness.runScript(source).then(tell)));
      return undefined;
    case 'finish-all':
      await Promise.all((await listScripts(store)).map(({ scriptId }) => finish(scriptId)));
      return undefined;
    case 'watch':
      await watch();
      return undefined;
    case 'replay':
      return harness.replay(options.id);
    default:
      throw new Error(`unknown action ${action}`);
  }
}

/** Recovers every script without a holder, as soon as possible, until a file STOP exists. */
async function watch() {
  while (!existsSync(join(folder, 'STOP'))) {
    const scripts = await listScripts(store);
    const open = scripts.filter(({ state }) => state === 'interrupted' || state === 'running');
    await Promise.all(open.map(({ scriptId }) => finish(scriptId)));
    await delay(1);
  }
}

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
async function finish(id) {
  let outcome = await harness.recover(id);
  while (outcome.status === 'suspended') {
    tell(outcome);
    const { suspension, pendingApprovals } = await harness.inspect(id);
    const decisions = pendingApprovals.map(({ approvalId }) => [approvalId, 'approve']);
    outcome = await harness.resume(suspension, Object.fromEntries(decisions));
  }
  tell(outcome);
}

function tell({ scriptId, status, operations, error }) {
  console.log(JSON.stringify({ scriptId, status, operations, error }));
}
