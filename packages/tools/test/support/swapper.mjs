// An enemy: as fast as it can, it turns `slot` from a folder inside the workspace into a link to one outside, and
// back, and `file-slot` from a link to a file inside into a link to one outside or another name of that one. Started
// with the workspace and the folder outside; reports the number of swaps so far; ends with its parent.
import { existsSync, linkSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

const [inside, outside] = process.argv.slice(2);
const slot = join(inside, 'slot');
const parked = join(inside, '.parked');
const fileSlot = join(inside, 'file-slot');
const spareLink = join(inside, '.spare-link');
let swaps = 0;
process.on('disconnect', () => process.exit());

/** The tools may create a folder while the slot is missing; then a step fails and the next one continues. */
function attempt(step) {
  try {
    step();
    swaps += 1;
  } catch {
    rmSync(spareLink, { force: true });
  }
}

function round() {
  attempt(() => renameSync(slot, parked));
  attempt(() => symlinkSync(outside, slot));
  attempt(() => unlinkSync(slot));
  attempt(() => renameSync(parked, slot));
  if (existsSync(parked)) attempt(() => rmSync(slot, { recursive: true, force: true }));
  // The file slot always exists: one rename replaces the last link by the next.
  for (const target of [join(outside, 'victim.txt'), join(inside, 'own.txt')]) {
    attempt(() => symlinkSync(target, spareLink));
    attempt(() => renameSync(spareLink, fileSlot));
  }
  attempt(() => linkSync(join(outside, 'victim.txt'), spareLink));
  attempt(() => renameSync(spareLink, fileSlot));
}

function run() {
  for (let count = 0; count < 200; count += 1) round();
  if (process.connected) process.send({ swaps });
  setImmediate(run);
}
process.send('ready');
run();
