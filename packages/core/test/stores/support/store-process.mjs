// A process that uses a file store: `node store-process.mjs <task> <folder> [<script> [<ms>]]`. It writes
// acknowledgements on stdout at once: the process completed each acknowledged step before it was killed. With a time, it
// kills itself that long after its first acknowledgement.
import { writeSync } from 'node:fs';
import { fileStore } from '#core/stores/index.js';

const [task, folder, scriptId, lifeMs] = process.argv.slice(2);
const { claim, journal } = fileStore(folder);
const HOLDER = { owner: 'a process', leaseMs: 60_000 };
let isHeard = false;

function say(text) {
  writeSync(1, `${text}\n`);
  if (!isHeard && lifeMs !== undefined) setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(lifeMs));
  isHeard = true;
}

const TASKS = {
  /** Claims the script from each epoch at the requested moment; the winner appends. */
  race() {
    const takeFrom = async (epoch) => {
      const isTaken = (await claim.take(scriptId, epoch, { ...HOLDER, force: true })) !== undefined;
      if (isTaken) await journal.append(scriptId, epoch + 1, [`${epoch + 1} by ${process.pid}`]);
      process.send(isTaken);
    };
    process.on('message', (epoch) => void takeFrom(epoch));
    process.send('ready');
  },

  /** Continues the script: numbered lines, some of them long, some in batches. */
  async append() {
    const epoch = (await claim.current(scriptId))?.epoch ?? 0;
    if (!(await claim.take(scriptId, epoch, HOLDER))) throw new Error('not taken');
    const before = (await journal.read(scriptId))?.lines ?? [];
    for (let first = before.length; ;) {
      const lines = Array.from({ length: 1 + (first % 4) }, (_, index) => lineOf(first + index));
      await journal.append(scriptId, epoch + 1, lines, { flush: first % 50 === 3 });
      first += lines.length;
      say(first);
    }
  },

  /** Every change that a store can make to a script, on one script after the other. */
  async churn() {
    for (let made = 0; ; made++) {
      const scriptId = `scr_${process.pid}_${made}`;
      say(scriptId);
      await claim.take(scriptId, 0, HOLDER);
      await journal.append(scriptId, 1, ['one', 'two']);
      await claim.release(scriptId, 1);
      await claim.take(scriptId, 1, HOLDER);
      await journal.append(scriptId, 2, ['three']);
      if (made % 3 === 0) await journal.delete(scriptId);
    }
  },

  /** Claims the script and keeps running. */
  async hold() {
    await claim.take(scriptId, 0, HOLDER);
    say(process.pid);
    setInterval(() => {}, 1_000);
  },
};

/** The number and more text, up to 300 KB; long texts are rare. */
function lineOf(number) {
  return `${number} ${'é'.repeat(number % 101 === 0 ? 150_000 : number % 50)}`;
}

await TASKS[task]();
