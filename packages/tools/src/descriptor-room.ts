import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/**
 * The number of descriptors that the start of a process needs: two for each of three pipes, two to report the start, and
 * some temporary ones.
 */
const DESCRIPTORS_OF_A_START = 12;

/** Throws if too many files are open, because a start that fails halfway never closes its pipes. */
export function demandDescriptors(): void {
  const taken: number[] = [];
  try {
    while (taken.length < DESCRIPTORS_OF_A_START) taken.push(openSync(devNull, 'r'));
  } finally {
    for (const descriptor of taken) closeSync(descriptor);
  }
}
