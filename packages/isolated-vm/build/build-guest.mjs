// Writes the guest for V8 beside the compiled code: core's guest, in the realm that `src/guest` prepares. Run after
// `tsc -b`.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleGuest } from '../../core/build/bundle-guest.mjs';

const entry = fileURLToPath(new URL('../src/guest/main.ts', import.meta.url));
await writeFile(new URL('../dist/guest.js', import.meta.url), await bundleGuest({ entry }));
