import { useState, type ReactNode } from 'react';
import { CodeLines } from '../parts/code-lines.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Icon } from '../parts/icons.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { useNow } from '../parts/use-now.ts';
import { foldsScripts } from '../state/folding.ts';
import { useSelection } from '../state/selection.ts';
import { duration, plural } from '../view/format.ts';
import { scriptSummary } from '../view/script-summary.ts';
import type { ScriptStatus, ScriptView } from '../view/types.ts';
import { CallsTable } from './calls-table.tsx';
import { EditedCalls } from './edited-calls.tsx';
import { ConsoleLines } from './console-lines.tsx';
import { PlanList } from './plan-list.tsx';
import { ScriptReplay, type ReadEvents } from './replay-bar.tsx';
import { ScriptResult } from './script-result.tsx';
import { SourceView } from './source-view.tsx';
import { changedFiles, UndoButton } from './undo-button.tsx';
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

/** A script: while it is written, while it runs, and afterwards. One that ended before the page was opened is folded. */
export function ScriptCard(props: ScriptCardProps) {
  const { script } = props;
  const [isOpen, setOpen] = useState<boolean>();
  const endedBefore = script.endedAt !== undefined && script.endedAt < performance.timeOrigin && foldsScripts();
  const { callId } = useSelection();
  const hasSelected = script.calls.some((call) => call.callId === callId);
  const isFolded = isOpen === undefined ? script.status === 'completed' && endedBefore && !hasSelected : !isOpen;
  if (!isFolded) return <OpenScript {...props} onFold={() => setOpen(false)} />;
  return (
    <article className="card script-card script-folded" data-status={script.status} aria-label="Script">
      <button type="button" className="fold-line" aria-expanded={false} onClick={() => setOpen(true)}>
        <Icon name="chevron" />
        <span className="cut">{scriptSummary(script)}</span>
        <span className="fold-mark">✓</span>
      </button>
      {changedFiles(script) && <UndoButton scriptId={script.scriptId!} />}
    </article>
  );
}

interface OpenScriptProps extends ScriptCardProps {
  readonly onFold: () => void;
}

function OpenScript({ script: live, readEvents, children, onFold }: OpenScriptProps) {
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
        <h2 title={scriptFacts(script)}>Script</h2>
        {live.status !== 'typing' && (
          <Tabs label="View of the script" tabs={scriptPanes(live)} current={pane} onSelect={setPane} />
        )}
        <span className="script-state">
          <ScriptState script={live} />
        </span>
        {changedFiles(live) && <UndoButton scriptId={live.scriptId!} />}
        <CopyButton text={live.source} label="Copy the source" />
        {live.status === 'completed' && (
          <IconButton icon="chevron" className="unfolded" label="Fold the script" aria-expanded onClick={onFold} />
        )}
      </header>
      {isReplay && <ScriptReplay script={live} readEvents={readEvents} onShow={show} />}
      {(pane === 'source' || isReplay) && <WaterfallChart script={script} now={time} />}
      {(pane === 'source' || isReplay) && <SourceView script={script} />}
      {pane === 'calls' && <CallsTable script={script} />}
      {pane === 'plan' && <PlanList script={script} />}
      {pane === 'model' && <CodeLines text={live.output?.report ?? ''} label="The model’s view of the result" />}
      <ConsoleLines logs={script.logs} startedAt={live.startedAt ?? 0} />
      <EditedCalls script={script} />
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
  typing: 'Being written',
  pending: 'Queued',
  executing: 'Running',
  suspended: 'Waiting for you',
  completed: 'Completed',
  error: 'Failed',
  stopped: 'Stopped',
  denied: 'Denied',
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

/** The language, the length and the hash of the source. */
function scriptFacts({ language, source, sha256 }: ScriptView): string {
  const facts = [language, plural(lineCount(source), 'line'), ...(sha256 === undefined ? [] : [`SHA-256 ${sha256}`])];
  return facts.join(' · ');
}

function lineCount(source: string): number {
  return source === '' ? 0 : source.split('\n').length;
}
