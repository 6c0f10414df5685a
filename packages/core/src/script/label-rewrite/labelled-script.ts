import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { coreFile } from '../../files/core-files.js';
import { sha256 } from '../../text/crypto.js';
import { rewriteForLabels } from './rewrite.js';

/** A script that reports the labels of its calls' arguments through its output; see `sandbox/labels`. */
export interface LabelledScript {
  readonly javascript: string;
  readonly sha256: string;
  /** The beginning of each line of the reports. No script knows it, so none can write a report. */
  readonly mark: string;
}

interface LabelOptions {
  /** Whether branches count as sources too. Default false. */
  readonly control?: boolean | undefined;
  /** The text of the label runtime. Default: that of this release. */
  readonly runtime?: string | undefined;
}

let runtimeText: string | undefined;
let secret: string | undefined;

/** Undefined: the rewriter does not know the syntax of the script. */
export function labelledScript(javascript: string, options: LabelOptions = {}): LabelledScript | undefined {
  const rewritten = rewriteForLabels(javascript, options.control);
  if (!rewritten.ok) return undefined;
  const runtime = options.runtime ?? (runtimeText ??= readFileSync(coreFile('sandbox/artefacts/labels.js'), 'utf8'));
  secret ??= randomBytes(32).toString('hex');
  // The same script has the same mark in this process, so that an engine can keep what it derives from the code.
  const mark = sha256(`${secret}\n${javascript}`).slice(0, 32);
  const code = `(()=>{"use strict";return (${runtime})("${mark}",${rewritten.code})})`;
  return { javascript: code, sha256: sha256(code), mark };
}
