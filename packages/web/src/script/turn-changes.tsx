import { useState } from 'react';
import type { UndoReport } from '@toolscript/client';
import { DiffLines } from '../parts/diff-text.tsx';
import { useLoaded } from '../settings/use-loaded.ts';
import { useSession } from '../state/session.ts';
import { diffLines } from '../view/diff-lines.ts';
import { plural } from '../view/format.ts';
import { lineCounts, reversedDiff } from '../view/reversed-diff.ts';
import type { RunView } from '../view/types.ts';
import { changedFiles, UndoDialog } from './undo-button.tsx';

/** The files that the scripts of a turn have changed, one line for each script. */
export function TurnChanges({ view: { status, entries } }: { readonly view: RunView }) {
  if (status === 'in_progress' || status === 'suspended') return null;
  return entries.map((entry) =>
    entry.type === 'script' && changedFiles(entry.script) ? (
      <ScriptChanges key={entry.key} scriptId={entry.script.scriptId!} />
    ) : null,
  );
}

/** The refusals of an undo of which the script has changed files all the same. */
const HIDES_FILES: ReadonlySet<string> = new Set(['already_undone', 'busy', 'changed', 'conflicts']);

function ScriptChanges({ scriptId }: { readonly scriptId: string }) {
  const { client } = useSession();
  const [isOpen, setOpen] = useState(false);
  const [isUndoing, setUndoing] = useState(false);
  const [loads, setLoads] = useState(0);
  const { value: report } = useLoaded(() => client.scripts.previewUndo(scriptId, 'undo'), `${scriptId} ${loads}`);
  const files = report?.files ?? [];
  if (report === undefined || (files.length === 0 && !HIDES_FILES.has(report.refusal?.code ?? ''))) return null;
  const diffs = files.map(({ path, diff }) => ({ path, lines: reversedDiff(diffLines(diff?.trimEnd() ?? '').lines) }));
  return (
    <section className="turn-changes" aria-label="Changed files">
      <p>
        <span>{changesText(report, diffs)}</span>
        {files.length > 0 && (
          <button type="button" className="link" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            View
          </button>
        )}
        <button type="button" className="link" onClick={() => setUndoing(true)}>
          {report.refusal?.code === 'already_undone' ? 'Redo…' : 'Undo…'}
        </button>
      </p>
      {isOpen && diffs.map(({ path, lines }) => <DiffLines key={path} lines={lines} label={`Changes of ${path}`} />)}
      {isUndoing && (
        <UndoDialog
          scriptId={scriptId}
          onClose={() => {
            setUndoing(false);
            setLoads(loads + 1);
          }}
        />
      )}
    </section>
  );
}

function changesText(
  { refusal, files }: UndoReport,
  diffs: readonly { readonly lines: Parameters<typeof lineCounts>[0] }[],
): string {
  if (refusal?.code === 'already_undone') return 'The changes of files are undone';
  if (files.length === 0) return 'Files changed';
  const { added, removed } = lineCounts(diffs.flatMap(({ lines }) => lines));
  return `${plural(files.length, 'file')} changed +${added} −${removed}`;
}
