// The laws of the code that a page or a Worker loads. Returns a line for each law that fails, and the number of those that
// hold. `service`: the address of a server with one run, and its token.
import { createClient } from '@toolscript/client';
import { createDetector, foldResponse } from '@toolscript/core/stream';

const ANSWER = 'I add.\n<tool-calls>\nreturn 1 + 1;\n</tool-calls>\nDone.';

const LAWS = {
  'the detector finds the script of an answer that arrives in parts': () => {
    const detector = createDetector();
    const events = [...ANSWER].flatMap((character) => [...detector.push(character)]);
    const segments = [...events, ...detector.end()].flatMap(({ segment }) => segment ?? []);
    const scripts = segments.filter(({ type }) => type === 'script');
    equal(
      scripts.map(({ source }) => source.trim()),
      ['return 1 + 1;'],
    );
  },
  'a client submits a prompt, decides its approval and folds its events': async ({ baseUrl, token }) => {
    const client = createClient({ baseUrl, token });
    const { runId, threadId } = await client.submit({ prompt: 'Invoice 7 was paid twice.' });
    const events = [];
    for await (const event of client.stream(runId)) {
      events.push(event);
      for (const approvalId of event.payload.approval_ids ?? [])
        await client.approvals.decide(approvalId, { decision: 'approve' });
    }
    const { items } = await client.threads.get(threadId);
    const folded = foldResponse(events).output_items;
    equal(folded.at(-1).content, 'It is paid back.');
    equal(
      folded.map(({ id }) => id),
      items.slice(-folded.length).map(({ id }) => id),
    );
  },
};

export async function heldLaws(service) {
  const lines = [];
  let held = 0;
  const names = Object.keys(LAWS);
  for (const name of names)
    try {
      await LAWS[name](service);
      held += 1;
    } catch (error) {
      lines.push(`${name}: ${error.stack ?? error}`);
    }
  return [...lines, `${held} of ${names.length} laws hold`].join('\n');
}

function equal(found, wanted) {
  const [left, right] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (left !== right) throw new Error(`found ${left}, wanted ${right}`);
}
