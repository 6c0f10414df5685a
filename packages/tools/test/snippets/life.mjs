// One process of a script that runs a saved script, for the tests: node life.mjs FOLDER ACTION VERSIONS [SCRIPT].
// The saved script `mark` has the sources of its versions in VERSIONS. Prints one JSON line.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHarness, defineTool, fileStore } from '@toolscript/core';
import { memoryDocuments } from '@toolscript/service/stores';
import { snippetTools } from '@toolscript/tools';

const [folder, action, versions, script] = process.argv.slice(2);
const scope = { kind: 'thread', id: 'thr_a' };
const documents = memoryDocuments();
const about = {
  description: 'Marks',
  input: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
};
for (const text of JSON.parse(versions)) await documents.save({ scope, kind: 'snippet', name: 'mark', text, about });

const note = defineTool({
  name: 'note',
  description: 'Notes a text',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  approval: 'always',
  effect: 'external',
  execute: ({ text }) => appendFileSync(join(folder, 'notes'), `${text}\n`),
});
const harness = createHarness({
  tools: [...snippetTools({ documents }), note],
  suspensionKey: 'a secret of more than thirty-two bytes',
  workers: { size: 1 },
  store: fileStore(join(folder, 'store')),
});
const outcome =
  action === 'run'
    ? await harness.runScript(script, { threadId: scope.id })
    : await harness
        .inspect(script)
        .then(({ suspension, pendingApprovals }) =>
          harness.resume(
            suspension,
            Object.fromEntries(pendingApprovals.map(({ approvalId }) => [approvalId, action])),
          ),
        );
console.log(JSON.stringify(outcome));
await harness.close();
