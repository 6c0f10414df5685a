import { useState } from 'react';
import { ProblemError, type UndoDirection, type UndoReport } from '@toolscript/client';
import { Dialog } from '../parts/dialog.tsx';
import { DiffText } from '../parts/diff-text.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { useLoaded } from '../settings/use-loaded.ts';
import { errorText, useSession } from '../state/session.ts';
import { plural } from '../view/format.ts';
import type { ScriptView } from '../view/types.ts';

/** Undoes the file changes of a script, after the user has seen them. */
export function UndoButton({ scriptId }: { readonly scriptId: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <IconButton icon="undo" label="Undo the changes of this script" onClick={() => setOpen(true)} />
      {isOpen && <UndoDialog scriptId={scriptId} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Whether a script has ended or is suspended, and a call may have changed files. */
export function changedFiles({ status, scriptId, calls }: ScriptView): boolean {
  if (scriptId === undefined || !['completed', 'error', 'stopped', 'denied', 'suspended'].includes(status))
    return false;
  return calls.some((call) => call.effect === 'write' && call.status === 'completed');
}

interface UndoDialogProps {
  readonly scriptId: string;
  readonly onClose: () => void;
}

/** Shows what an undo changes, and undoes it after a confirmation. */
export function UndoDialog({ scriptId, onClose }: UndoDialogProps) {
  const { client, notice } = useSession();
  const [direction, setDirection] = useState<UndoDirection>('undo');
  const [isBusy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<UndoReport>();
  const { value, error } = useLoaded(() => client.scripts.previewUndo(scriptId, direction), direction);
  const report = answer ?? value;
  const confirm = async ({ planId }: UndoReport) => {
    setBusy(true);
    try {
      const done = await client.scripts.undo(scriptId, { direction, ...(planId === undefined ? {} : { planId }) });
      notice.set(`${direction === 'undo' ? 'Undone' : 'Redone'}: ${plural(done.files.length, 'file')}`);
      if (done.notUndone.length + done.notUndoable.length === 0) return onClose();
      setAnswer(done);
    } catch (failure) {
      const refused = failure instanceof ProblemError ? (failure.problem['undo'] as UndoReport | undefined) : undefined;
      if (refused === undefined) notice.set(errorText(failure));
      else setAnswer(refused);
    }
    setBusy(false);
  };
  const redo = () => {
    setAnswer(undefined);
    setDirection('redo');
  };
  const canConfirm = report !== undefined && !report.isDone && report.refusal === undefined;
  return (
    <Dialog title={undoTitle(direction, report)} onClose={onClose} className="undo-dialog">
      {error !== undefined && <p className="error-text">{errorText(error)}</p>}
      {report === undefined ? (
        error === undefined && <p className="dim">Comparing the files …</p>
      ) : (
        <Report report={report} />
      )}
      <div className="dialog-buttons">
        <button type="button" onClick={onClose}>
          {canConfirm ? 'Cancel' : 'Close'}
        </button>
        {report?.refusal?.code === 'already_undone' && (
          <button type="button" onClick={redo}>
            Redo…
          </button>
        )}
        {canConfirm && (
          <button type="button" className="danger" disabled={isBusy} onClick={() => void confirm(report)}>
            {direction === 'undo' ? 'Undo' : 'Redo'} {plural(report.files.length, 'file')}
          </button>
        )}
      </div>
    </Dialog>
  );
}

function undoTitle(direction: UndoDirection, report: UndoReport | undefined): string {
  if (report?.isDone === true) return direction === 'undo' ? 'Undone' : 'Redone';
  return direction === 'undo' ? 'Undo the changes of this script?' : 'Redo the changes of this script?';
}

const CHANGES: Readonly<Record<UndoReport['files'][number]['change'], string>> = {
  create: 'restored',
  update: 'changed',
  delete: 'removed',
};

function Report({ report }: { readonly report: UndoReport }) {
  const { refusal, files, conflicts, notUndoable, calls, notUndone, isDone } = report;
  const left = [
    ...notUndoable.map(({ path, reason }) => ({ name: path, reason })),
    ...notUndone.map(({ tool, reason = '' }) => ({ name: tool, reason })),
  ];
  return (
    <>
      {refusal !== undefined && <p className="error-text">{refusal.message}</p>}
      <Problems title="Changed since" problems={conflicts.map(({ path, reason }) => ({ name: path, reason }))} />
      {refusal === undefined && (
        <ul className="undo-files" aria-label="Files">
          {files.map((file) => (
            <li key={file.path}>
              <FileLine file={file} isDone={isDone} />
            </li>
          ))}
        </ul>
      )}
      <Problems
        title="Calls that their own tools undo"
        problems={calls.map(({ tool }) => ({ name: tool, reason: '' }))}
      />
      <Problems title="Not undone" problems={left} />
    </>
  );
}

function FileLine({ file: { path, change, diff }, isDone }: { file: UndoReport['files'][number]; isDone: boolean }) {
  const line = `${path} ${isDone ? 'was' : 'is'} ${CHANGES[change]}`;
  if (diff === undefined) return <>{line}</>;
  return (
    <details>
      <summary>{line}</summary>
      <DiffText text={diff.trimEnd()} label={`The changes of ${path}`} />
    </details>
  );
}

interface ProblemsProps {
  readonly title: string;
  readonly problems: readonly { readonly name: string; readonly reason: string }[];
}

function Problems({ title, problems }: ProblemsProps) {
  if (problems.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul aria-label={title}>
        {problems.map(({ name, reason }, index) => (
          <li key={index}>
            {name}
            {reason !== '' && <span className="dim">: {reason}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
