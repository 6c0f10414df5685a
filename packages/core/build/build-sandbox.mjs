// Writes the sandbox's engine and images, and the runtime of labels, beside the compiled code. Run after `tsc -b`.
import { writeFile } from 'node:fs/promises';
import { buildSandbox } from '../dist/sandbox/image-build/build-image.js';
import { bundleGuest } from './bundle-guest.mjs';

const header = await buildSandbox({
  guest: await bundleGuest(),
  engine: new URL('../engine/', import.meta.url),
  out: new URL('../dist/sandbox/artefacts/', import.meta.url),
});
console.log(`sandbox image: ${header.pages * 64 - header.start / 1024} KiB, engine ${header.engine.slice(0, 12)}`);

// Scripts do not have it: it runs with the rewritten copy of a script, and is part of that copy's text.
const labels = await bundleGuest({ entry: '../labels/main.js' });
await writeFile(new URL('../dist/sandbox/artefacts/labels.js', import.meta.url), labels);
console.log(`runtime of labels: ${(labels.length / 1024).toFixed(0)} KiB`);
