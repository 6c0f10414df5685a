import { randomBytes } from 'node:crypto';
import { sha256 } from '../../text/crypto.js';

/** A script that reports the labels of its calls' arguments through its output; see `sandbox/labels`. */
export interface LabelledScript {
  readonly javascript: string;
  readonly sha256: string;
  /** The beginning of each line of the reports. No script knows it, so none can write a report. */
  readonly mark: string;
}

let secret: string | undefined;

/** The script of a copy, from a rewritten script. */
export function labelledScript(rewritten: string): LabelledScript {
  secret ??= randomBytes(32).toString('hex');
  // The same script has the same mark in this process, so that an engine can keep what it derives from the code.
  const mark = sha256(`${secret}\n${rewritten}`).slice(0, 32);
  const javascript = `["${mark}",${rewritten}]`;
  return { javascript, sha256: sha256(javascript), mark };
}
