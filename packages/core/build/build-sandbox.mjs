// Writes the sandbox's engine and images beside the compiled code. Run after `tsc -b`.
import { buildSandbox } from '../dist/sandbox/image-build/build-image.js';
import { bundleGuest } from './bundle-guest.mjs';

const header = await buildSandbox({
  guest: await bundleGuest(),
  labels: await bundleGuest({ entry: '../labels/main.js' }),
  engine: new URL('../engine/', import.meta.url),
  out: new URL('../dist/sandbox/artefacts/', import.meta.url),
});
console.log(`sandbox image: ${header.pages * 64 - header.start / 1024} KiB, engine ${header.engine.slice(0, 12)}`);
