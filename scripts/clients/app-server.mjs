// Codex as editors use it (`codex app-server`), with a user who approves the call in every form.
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** A decision within a second counts as that of a program. */
const READING_MS = 1_500;

/** Starts a turn. Returns the forms that the user is shown, which grow with the turn. */
export async function startTurn({ child }, prompt) {
  const forms = [];
  const answers = new Map();
  const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
  const request = (method, params) => {
    const id = answers.size + 1;
    send({ id, method, params });
    return new Promise((resolve) => answers.set(id, resolve));
  };
  const approve = async (id, form) => {
    await sleep(READING_MS);
    forms.push(form);
    send({ id, result: { action: 'accept', content: { decision: 'approve' } } });
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, method, params, result, error } = JSON.parse(line);
    if (method === undefined) answers.get(id)?.(error ?? result);
    if (method === 'mcpServer/elicitation/request') void approve(id, params);
  });
  await request('initialize', { clientInfo: { name: 'editor', version: '1.0.0' } });
  send({ method: 'initialized' });
  const { thread } = await request('thread/start', { approvalPolicy: 'on-request', sandbox: 'danger-full-access' });
  await request('turn/start', { threadId: thread.id, input: [{ type: 'text', text: prompt }] });
  return forms;
}
