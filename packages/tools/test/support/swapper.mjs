// An enemy: as fast as it can, it turns `slot` from a folder inside the workspace into a link to one outside, and
// back. Started with the workspace and the folder outside; ends with its parent.
import { renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

const [inside, outside] = process.argv.slice(2);
const slot = join(inside, 'slot');
const parked = join(inside, '.parked');
const fileSlot = join(inside, 'file-slot');
const spareLink = join(inside, '.spare-link');
let swaps = 0;
let stop = false;
process.on('disconnect', () => process.exit());
process.on('message', () => {
  stop = true;
});

function round() {
  renameSync(slot, parked);
  symlinkSync(outside, slot);
  unlinkSync(slot);
  renameSync(parked, slot);
  // The file slot is always there: one rename puts the next link in place of the last.
  for (const target of [join(outside, 'victim.txt'), join(inside, 'own.txt')]) {
    symlinkSync(target, spareLink);
    renameSync(spareLink, fileSlot);
  }
  swaps += 4;
}

function run() {
  for (let count = 0; count < 200; count += 1) round();
  if (!stop) return setImmediate(run);
  process.send({ swaps });
  process.disconnect();
}
process.send('ready');
run();
