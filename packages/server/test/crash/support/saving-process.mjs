// `node saving-process.mjs URL FOLDER THREAD script|recover|save NAME`: a process that saves files of a thread.
// `script`: kills itself after the file is saved and before the journal has the result.
import { join } from 'node:path';
import { createHarness, fileStore } from '@toolscript/core';
import { filePlace } from '@toolscript/core/internal';
import { openStores } from '@toolscript/service/stores';
import { cabinetTools } from '../../../../tools/dist/index.js';

const [url, folder, threadId, mode, name] = process.argv.slice(2);
const stores = await openStores(url);
const { documents } = stores;

if (mode === 'save') {
  const texts = Array.from({ length: 8 }, (_, index) => `${process.pid} ${index}`);
  for (const text of texts) await documents.save({ ...filePlace(threadId, name), text });
  console.log(JSON.stringify(texts));
} else {
  const saving = {
    save: async (draft) => {
      const saved = await documents.save(draft);
      if (mode === 'script') process.kill(process.pid, 'SIGKILL');
      return saved;
    },
  };
  const tools = cabinetTools({ documents: Object.assign(Object.create(documents), saving) });
  const store = fileStore(join(folder, 'scripts'), { leaseMs: 500 });
  const harness = createHarness({ tools, store, suspensionKey: new Uint8Array(32).fill(7), typecheck: 'off' });
  const outcome =
    mode === 'script'
      ? await harness.runScript(`return await tools.${name};`, { threadId, principal: 'ada' })
      : await harness.recover(name, { principal: 'ada', force: true });
  console.log(JSON.stringify(outcome));
  await harness.close();
}
await stores.close();
