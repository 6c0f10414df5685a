import { useState, type ReactNode } from 'react';
import { CodeLines } from '../parts/code-lines.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { useNow } from '../parts/use-now.ts';
import { duration, plural } from '../view/format.ts';
import type { ScriptStatus, ScriptView } from '../view/types.ts';
import { CallsTable } from './calls-table.tsx';
import { ConsoleLines } from './console-lines.tsx';
import { PlanList } from './plan-list.tsx';
import { ScriptReplay, type ReadEvents } from './replay-bar.tsx';
import { ScriptResult } from './script-result.tsx';
import { SourceView } from './source-view.tsx';
import { UndoButton } from './undo-button.tsx';
import { WaterfallChart } from './waterfall-chart.tsx';

type Pane = 'source' | 'calls' | 'plan' | 'model' | 'replay';

const TICK_MS = 100;

interface ScriptCardProps {
  readonly script: ScriptView;
  /** Reads the events of the script's run. */
  readonly readEvents: ReadEvents;
  /** The sub-agents of the script. */
  readonly children?: ReactNode | undefined;
}

/** A script: while it is written, while it runs, and afterwards. */
export function ScriptCard({ script: live, readEvents, children }: ScriptCardProps) {
  const [pane, setPane] = useState<Pane>('source');
  const [replayed, setReplayed] = useState<{ script: ScriptView; at: number }>();
  const now = useNow(TICK_MS, live.status === 'executing' || live.status === 'suspended');
  const isReplay = pane === 'replay';
  const script = isReplay ? (replayed?.script ?? live) : live;
  const time = isReplay ? (replayed?.at ?? now) : now;
  const show = (then: ScriptView | undefined, at: number) => then !== undefined && setReplayed({ script: then, at });
  return (
    <article className="card script-card" data-status={live.status} aria-label="Script">
      <header className="card-head">
        <span className="dot" data-status={live.status} />
        <h2>Script</h2>
        <span className="dim script-facts" title={script.sha256}>
          {script.language} · {plural(lineCount(script.source), 'line')}
        </span>
        {live.status !== 'typing' && (
          <Tabs label="View of the script" tabs={scriptPanes(live)} current={pane} onSelect={setPane} />
        )}
        <span className="script-state">
          <ScriptState script={live} />
        </span>
        {changedFiles(live) && <UndoButton scriptId={live.scriptId!} />}
        <CopyButton text={live.source} label="Copy the source" />
      </header>
      {isReplay && <ScriptReplay script={live} readEvents={readEvents} onShow={show} />}
      {(pane === 'source' || isReplay) && <WaterfallChart script={script} now={time} />}
      {(pane === 'source' || isReplay) && <SourceView script={script} />}
      {pane === 'calls' && <CallsTable script={script} />}
      {pane === 'plan' && <PlanList script={script} />}
      {pane === 'model' && <CodeLines text={live.output?.report ?? ''} label="The model’s view of the result" />}
      <ConsoleLines logs={script.logs} startedAt={live.startedAt ?? 0} />
      {children}
      {pane !== 'model' && script.output !== undefined && <ScriptResult output={script.output} />}
    </article>
  );
}

function scriptPanes({ calls, plan, output }: ScriptView): { id: Pane; title: string }[] {
  return [
    { id: 'source', title: 'Source' },
    ...(calls.length === 0 ? [] : [{ id: 'calls' as const, title: `Calls ${calls.length}` }]),
    ...(plan.length === 0 ? [] : [{ id: 'plan' as const, title: `Plan ${plan.length}` }]),
    ...(output?.report === undefined ? [] : [{ id: 'model' as const, title: 'Model’s view' }]),
    ...(output === undefined ? [] : [{ id: 'replay' as const, title: 'Replay' }]),
  ];
}

const STATES: Readonly<Record<ScriptStatus, string>> = {
  typing: 'The model writes it',
  pending: 'Waits for its turn',
  executing: 'Runs',
  suspended: 'Waits for you',
  completed: 'Completed',
  error: 'Failed',
};

function ScriptState({ script: { status, output } }: { readonly script: ScriptView }) {
  if (output === undefined) return STATES[status];
  const { duration_ms: durationMs, approval_wait_ms: waitMs } = output.metadata;
  return (
    <>
      {status === 'completed' ? <span className="hidden">Completed, </span> : `${STATES[status]} · `}
      {duration(durationMs)}
      {waitMs > 1000 && ` · waited ${duration(waitMs)}`}
    </>
  );
}

/** Whether a script has ended or is suspended, and a call may have changed files. */
function changedFiles({ status, scriptId, calls }: ScriptView): boolean {
  if (scriptId === undefined || !['completed', 'error', 'suspended'].includes(status)) return false;
  return calls.some((call) => call.effect === 'write' && call.status === 'completed');
}

function lineCount(source: string): number {
  return source === '' ? 0 : source.split('\n').length;
}
