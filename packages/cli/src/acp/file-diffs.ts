import type { Diff } from '@agentclientprotocol/sdk';
import { resolve } from 'node:path';

/** The name of a file in the head of a patch, in the format of Codex or of a unified diff. */
const FILE_HEAD = /^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)(.+)$/u;

/** The mark that a rendered text has at the end of a line. */
const LINE_END = /⏎$/u;

interface Hunk {
  readonly before: string[];
  readonly after: string[];
}

/** One diff per hunk of a patch: the text before and after, with the lines around it. Empty for another text. */
export function patchDiffs(patch: string, folder: string): Diff[] {
  const diffs: Diff[] = [];
  let path: string | undefined;
  let hunk: Hunk = { before: [], after: [] };
  const finish = () => {
    if (path !== undefined && hunk.before.length + hunk.after.length > 0)
      diffs.push({
        path: resolve(folder, path),
        oldText: hunk.before.length === 0 ? null : hunk.before.join('\n'),
        newText: hunk.after.join('\n'),
      });
    hunk = { before: [], after: [] };
  };
  for (const whole of patch.split('\n')) {
    const line = whole.replace(LINE_END, '');
    const [, named] = FILE_HEAD.exec(line) ?? [];
    if (named !== undefined || line.startsWith('@@') || line.startsWith('*** ') || line.startsWith('--- ')) finish();
    if (named !== undefined) path = named;
    else if (path !== undefined) addLine(hunk, line);
  }
  finish();
  return diffs;
}

function addLine({ before, after }: Hunk, line: string): void {
  const text = line.slice(1);
  if (line.startsWith('-')) before.push(text);
  else if (line.startsWith('+')) after.push(text);
  else if (line.startsWith(' ')) {
    before.push(text);
    after.push(text);
  }
}
