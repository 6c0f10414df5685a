// A server in a separate process: `node server-process.mjs FOLDER JSON`. It prints its address on stdout. Every
// effect of a tool appends one line to FOLDER/effects before anything else can happen. `kill`: the point where the
// process kills itself. `name`: the process adds its claims and effects to FOLDER/ledger. `release`: `old` or `new`; a
// new one has another suspension key and a newer bridge, and opens what an old one has made.
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createHarness, defineTool, fileStore } from '@toolscript/core';
import { createCompiler, QuickJsPool } from '@toolscript/core/internal';
import { scriptedModel } from '@toolscript/core/providers';
import { createServer, HarnessAgents } from '@toolscript/server';
import { openDatabase, openEventLog } from '@toolscript/service/stores';
import { snippetTools } from '@toolscript/tools';
import { FolderUndo } from '../../../../cli/dist/undo/script-undo.js';

const [folder, json] = process.argv.slice(2);
const { token, kill, name, store, events: eventsUrl, release = 'old', ...options } = JSON.parse(json);
const COUNTED = { 'before-call': 'calls', 'during-call': 'calls', 'after-call': 'calls', 'after-event': 'events' };
let counted = 0;
let effects = 0;

function die() {
  process.kill(process.pid, 'SIGKILL');
}

/** One line for each fact. The time is that of the machine, not that of the shifted clock of this process. */
function note(fact) {
  if (name === undefined) return;
  const at = performance.timeOrigin + performance.now();
  appendFileSync(join(folder, 'ledger'), `${JSON.stringify({ at, process: name, ...fact })}\n`);
}

/** Notes the claims of runs. */
function noted(runs) {
  return new Proxy(runs, {
    get(target, member) {
      const method = Reflect.get(target, member);
      if (typeof method !== 'function') return method;
      if (member !== 'claim') return method.bind(target);
      return async (options) => {
        const claimed = await target.claim(options);
        if (claimed !== undefined) note({ claimed: claimed.run.runId, epoch: claimed.run.epoch });
        return claimed;
      };
    },
  });
}

/** Counts the calls of a store, or the published events, and dies at the requested one. */
function watched(port) {
  const kind = COUNTED[kill?.at];
  if (kind === undefined) return port;
  return new Proxy(port, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== 'function' || name === 'subscribe' || name === 'watch') return member;
      if (kind === 'events' && name !== 'publish') return member.bind(target);
      return async (...parameters) => {
        counted += kind === 'events' ? parameters[1].length : 1;
        const isIt = counted >= kill.count;
        if (isIt && kill.at === 'before-call') die();
        const called = member.apply(target, parameters);
        if (isIt && kill.at === 'during-call') die();
        const value = await called;
        if (isIt) die();
        return value;
      };
    },
  });
}

/** The longest time that the undo of a call takes, in ms. */
const REVERT_MS = 600;

async function revertMark({ tag }, _result, { idempotencyKey }) {
  note({ reverted: tag, key: idempotencyKey });
  await delay(REVERT_MS * Math.random());
}

function haveEffect(tag, key) {
  appendFileSync(join(folder, 'effects'), `${key} ${tag}\n`);
  note({ tag, key });
  effects += 1;
  if (kill?.at === 'in-effect' && effects === kill.count) die();
}

/** `waitsFor`: it ends when there is a file of this name in FOLDER; for `tag`, of the name in its tag. */
function tool(name, effect, approval, waitsFor) {
  const mayEnd = (tag) => waitsFor === undefined || existsSync(join(folder, waitsFor === 'tag' ? tag : waitsFor));
  return defineTool({
    name,
    description: name,
    effect,
    approval,
    inputSchema: { type: 'object', properties: { tag: { type: 'string' }, ms: { type: 'number' } }, required: ['tag'] },
    async execute({ tag, ms = 0 }, { idempotencyKey }) {
      if (effect !== 'read') haveEffect(tag, idempotencyKey);
      if (ms > 0) await delay(ms);
      // The tool's own signal does not end it.
      while (!mayEnd(tag)) await delay(10);
      return { tag };
    },
    revert: name === 'mark' ? revertMark : undefined,
  });
}

/**
 * Reads its answers from the prompt: a list of scripts and calls, one for each answer. It needs only the conversation.
 */
const { api, model, capabilities } = scriptedModel({ turns: [] });
const provider = {
  api,
  model,
  capabilities,
  stream: (request, options) => scriptedModel({ turns: [answerTo(request)] }).stream(request, options),
};

function answerTo({ conversation, tools = [] }) {
  const last = conversation.findLastIndex((item) => item.type === 'message' && item.role === 'user');
  const results = conversation.slice(last + 1).filter(({ type }) => type.endsWith('_output'));
  const { steps } = JSON.parse(conversation[last].content);
  const step = steps[results.length];
  const usage = { input_tokens: 0, output_tokens: 0 };
  const text = { type: 'text', text: `I have read ${results.length} results. ` };
  return { parts: step === undefined ? [text] : [text, partOf(step, tools.length > 0)], usage };
}

/** Each call has a unique id, as from a provider. */
function partOf(step, offersScripts) {
  const call_id = `call_${randomUUID()}`;
  if (step.type === 'call') return { ...step, call_id };
  return offersScripts ? { type: 'call', name: 'run_script', arguments: { code: step.code }, call_id } : step;
}

const database = await openDatabase(store ?? `libsql:${join(folder, 'toolscript.db')}`);
const { stores } = database;
const events = eventsUrl === undefined ? database.log : await openEventLog(eventsUrl);
const files = database.scripts ?? fileStore(join(folder, 'scripts'));
const scripts = {
  claim: watched(files.claim),
  journal: watched(files.journal),
  images: watched(files.images),
  isFlushed: files.isFlushed,
  hasRuns: files.hasRuns,
};
/** A saved script with two effects. The first process saves it. */
const WORKSPACE = 'shared';
const pair = {
  scope: { kind: 'workspace', id: WORKSPACE },
  kind: 'snippet',
  name: 'pair',
  ifVersion: 0,
  text: "await tools.mark({ ...input, tag: input.tag + '1' }); return await tools.mark({ ...input, tag: input.tag + '2' });",
  about: { description: 'Two marks.', input: { type: 'object' } },
};
await stores.documents.save(pair).catch(() => {});
const SECRET = 'a secret of more than thirty-two bytes';

class NewerPool extends QuickJsPool {
  bridge = { version: this.bridge.version + 1, known: [this.bridge.version, this.bridge.version + 1] };
}

/** A busy machine takes as long as it takes: no limit of time ends a script that does its work. */
const PATIENCE_MS = 600_000;

const RELEASES = {
  old: { workers: { size: 1 }, suspensionKey: SECRET },
  new: { runtime: () => new NewerPool({ size: 1 }), suspensionKey: [`another ${SECRET}`, SECRET] },
};

const harness = {
  tools: [
    tool('look', 'read', 'never'),
    tool('mark', 'write', 'never'),
    tool('note', 'external', 'always'),
    tool('wait', 'read', 'never', 'go'),
    tool('meet', 'read', 'never', 'tag'),
    tool('hang', 'write', 'never', 'never'),
    ...snippetTools({ documents: stores.documents, workspace: WORKSPACE }),
  ],
  expose: { spawn: true },
  store: scripts,
  approvals: {
    rules: [
      { tool: 'agents.*', action: 'approve' },
      { tool: '*', action: 'ask' },
    ],
  },
  typecheck: 'off',
  compiler: createCompiler({ deadlineMs: PATIENCE_MS }),
  limits: { queueWaitMs: PATIENCE_MS, computeMs: PATIENCE_MS },
  ...RELEASES[release],
  runtime: RELEASES[release].runtime?.(),
};
const agents = new HarnessAgents({
  agents: [
    { slug: 'caller', carrier: 'tool', functions: 'all' },
    { slug: 'writer', carrier: 'text' },
    { slug: 'leader', carrier: 'tool', agents: {} },
  ],
  harness,
  provider: () => provider,
});

/** Undoes calls. The scripts change no files. */
const noFiles = async () => ({ refused: 'nothing_recorded', message: 'No file was changed.', conflicts: [] });
let undoing;
const undo = new FolderUndo({
  harness: async () => (undoing ??= createHarness(harness)),
  approvals: 'auto',
  tools: { planUndo: noFiles, undoChanges: noFiles },
});
const app = await createServer({
  stores: { ...stores, threads: watched(stores.threads), runs: noted(watched(stores.runs)) },
  events: watched(events),
  scripts,
  agents,
  undo,
  auth: { token },
  logger: { level: 'warn', stream: process.stderr },
  ...options,
});
process.once('SIGTERM', () => void close());
await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`http://127.0.0.1:${app.server.address().port}\n`);
if (kill?.at === 'after-ms') setTimeout(die, kill.count);

async function close() {
  await app.close();
  await agents.close();
  await undoing?.close();
  await events.close();
  await database.close();
  // Tools without an end do not keep the process alive.
  process.exit();
}
