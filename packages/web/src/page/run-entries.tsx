import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { subAgentEvent, type StreamEvent } from '@toolscript/core/stream';
import { ApprovalCard } from '../approval/approval-card.tsx';
import { ApprovalBatch } from '../approval/approval-batch.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { CodeLines } from '../parts/code-lines.tsx';
import { ShownPart } from '../parts/shown-part.tsx';
import { useNow } from '../parts/use-now.ts';
import type { ReadEvents } from '../script/replay-bar.tsx';
import { ScriptCard } from '../script/script-card.tsx';
import type { RunFeed } from '../state/run-feed.ts';
import { RunIdContext } from '../state/selection.ts';
import { errorText, useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import { filesIn } from '../view/attached-files.ts';
import { duration } from '../view/format.ts';
import type { AgentView, Entry, RunView, ScriptView } from '../view/types.ts';
import { visible } from '../view/visible.ts';
import type { Attachment } from './attachments.tsx';
import { CallEntry } from './call-entry.tsx';
import { MessageEntry } from './message-entry.tsx';
import type { Prompt } from './prompt.ts';

interface RunEntriesProps {
  readonly feed: RunFeed;
  /** Copies an earlier prompt into the field. */
  readonly onEdit: (draft: Prompt) => void;
}

/** The entries of one run, and its pending calls. */
export function RunEntries({ feed, onEdit }: RunEntriesProps) {
  const { view, turnId, connection, error } = useStore(feed.store);
  const onEditPrompt = useCallback<EntryViewProps['onEdit']>(
    (text, attachments) => onEdit({ text, attachments, branchBefore: turnId }),
    [onEdit, turnId],
  );
  return (
    <section className="run" aria-label="Turn">
      <RunIdContext value={feed.runId}>
        {view.entries.map((entry) => (
          <ShownPart key={entry.key} of={entry.type === 'script' ? entry.script : entry}>
            <EntryView entry={entry} readEvents={feed.readEvents} onEdit={onEditPrompt} />
          </ShownPart>
        ))}
        <PendingApprovals runId={feed.runId} view={view} />
      </RunIdContext>
      {connection === 'live' && view.status === 'in_progress' && <Working view={view} />}
      <RunEnd view={view} onRetry={onEditPrompt} />
      {connection === 'failed' && (
        <p className="error-text" role="alert">
          {errorText(error)}
        </p>
      )}
    </section>
  );
}

interface EntryViewProps {
  readonly entry: Entry;
  readonly readEvents: ReadEvents;
  readonly onEdit: (text: string, attachments: readonly Attachment[]) => void;
}

const EntryView = memo(
  function EntryView({ entry, readEvents, onEdit }: EntryViewProps) {
    switch (entry.type) {
      case 'message':
        return <MessageEntry item={entry.item} onEdit={onEdit} />;
      case 'reasoning':
        return (
          <details className="reasoning">
            <summary>Reasoning</summary>
            <Markdown text={entry.item.content} />
          </details>
        );
      case 'script':
        return (
          <ScriptCard script={entry.script} readEvents={readEvents}>
            <SubAgents agents={entry.script.agents} readEvents={readEvents} onEdit={onEdit} />
          </ScriptCard>
        );
      case 'call':
        return (
          <>
            <CallEntry entry={entry} />
            <SubAgents agents={entry.agents} readEvents={readEvents} onEdit={onEdit} />
          </>
        );
      case 'hosted_code':
        return (
          <details className="reasoning" open>
            <summary>Code that the provider runs{entry.item.lost === true && '. It did not finish'}</summary>
            <CodeLines text={entry.item.source_code} label="Code of the provider" />
          </details>
        );
      case 'hosted_code_output':
        return (
          <details className="reasoning">
            <summary>The provider’s code {entry.item.success ? 'completed' : 'failed'}</summary>
            <CodeLines text={entry.item.output} label="Output of the provider’s code" />
          </details>
        );
      case 'plan':
        return <WorkPlan entry={entry} />;
      case 'compaction':
        return (
          <details className="reasoning">
            <summary>The conversation so far was summarised for the model</summary>
            <CodeLines text={entry.item.summary} label="Summary" />
          </details>
        );
      case 'error':
        return (
          <p className="failure" role="alert">
            <strong>{entry.item.code}</strong> {entry.item.message}
          </p>
        );
    }
  },
  (before, after) => sameEntry(before.entry, after.entry) && before.onEdit === after.onEdit,
);

function sameEntry(before: Entry, after: Entry): boolean {
  if (before.type === 'script') return after.type === 'script' && before.script === after.script;
  if (before.type === 'call')
    return (
      after.type === 'call' &&
      before.item === after.item &&
      before.output === after.output &&
      before.agents.length === 0 &&
      after.agents.length === 0 &&
      before.call === after.call
    );
  return after.type === before.type && before.item === after.item;
}

interface SubAgentsProps extends Omit<EntryViewProps, 'entry'> {
  readonly agents: readonly AgentView[];
}

function SubAgents({ agents, ...props }: SubAgentsProps) {
  return agents.map((agent) => <SubAgentCard key={agent.runId} agent={agent} {...props} />);
}

interface SubAgentCardProps extends Omit<EntryViewProps, 'entry'> {
  readonly agent: AgentView;
}

/** A run inside of another run, as one line. Its own entries are shown when the user opens the line. */
function SubAgentCard({
  agent: { runId, agent, task, startedAt, endedAt, run },
  readEvents,
  onEdit,
}: SubAgentCardProps) {
  const [isOpen, setIsOpen] = useState(false);
  const now = useNow(1000, endedAt === undefined);
  const readOwn = useCallback<ReadEvents>(
    async (signal) => (await readEvents(signal)).flatMap((event) => ownEvent(event, runId)),
    [readEvents, runId],
  );
  const dot = DOTS[run.status];
  return (
    <details
      className="card sub-agent"
      data-status={run.status}
      aria-label={`Sub-agent ${agent}`}
      onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}
    >
      <summary>
        <span className="dot" data-status={dot} />
        <span className="tag">{visible(agent)}</span>
        <span className="cut">{visible(task)}</span>
        <span className="dim">
          {run.status === 'in_progress' ? 'works' : run.status} · {duration((endedAt ?? now) - startedAt)}
          {run.usage !== undefined && ` · ${run.usage.input_tokens + run.usage.output_tokens} tokens`}
        </span>
      </summary>
      {isOpen &&
        run.entries.map((entry) => <EntryView key={entry.key} entry={entry} readEvents={readOwn} onEdit={onEdit} />)}
      {isOpen && run.error !== undefined && (
        <p className="failure" role="alert">
          <strong>{run.error.code}</strong> {run.error.message}
        </p>
      )}
    </details>
  );
}

const DOTS: Readonly<Record<RunView['status'], string>> = {
  in_progress: 'executing',
  completed: 'completed',
  suspended: 'suspended',
  failed: 'error',
  cancelled: 'error',
  incomplete: 'error',
};

function ownEvent(event: StreamEvent, runId: string): StreamEvent[] {
  const own = subAgentEvent(event);
  return own?.run_id === runId ? [own] : [];
}

function WorkPlan({ entry }: { readonly entry: Extract<Entry, { type: 'plan' }> }) {
  const marks = { pending: '○', in_progress: '◐', completed: '●' } as const;
  return (
    <section className="card work-plan" aria-label="Work plan">
      {entry.item.explanation !== '' && <p className="dim">{entry.item.explanation}</p>}
      <ul>
        {entry.item.steps.map(({ step, status }, index) => (
          <li key={index} data-status={status}>
            <span aria-hidden="true">{marks[status]}</span> {step}
            <span className="hidden"> ({status.replace('_', ' ')})</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function PendingApprovals({ runId, view }: { readonly runId: string; readonly view: RunView }) {
  const { approvals } = useSession();
  const all = useStore(approvals.store).value ?? [];
  const pending = all.filter((approval) => approval.runId === runId);
  const isMissing = view.status === 'suspended' && pending.length === 0;
  useEffect(() => {
    if (isMissing) void approvals.refresh();
  }, [isMissing, approvals]);
  const focusKeeper = useFocusKeeper(pending.length);
  return (
    <div
      {...focusKeeper}
      className="pending"
      role="group"
      aria-label="Calls that wait for you"
      tabIndex={-1}
      hidden={pending.length === 0}
    >
      {pending.length > 1 && <ApprovalBatch runId={runId} approvals={pending} />}
      {pending.map((approval) => (
        <ApprovalCard key={approval.approvalId} approval={approval} script={findScript(approval.scriptId, view)} />
      ))}
    </div>
  );
}

/**
 * Keeps the focus near a decided card that had it: in the group of the other cards, where Tab leads to the next one, or
 * in the conversation. No other card gets it, because the user has not read that card.
 */
function useFocusKeeper(count: number) {
  const group = useRef<HTMLDivElement>(null);
  const hasFocus = useRef(false);
  useLayoutEffect(() => {
    if (!hasFocus.current || document.activeElement !== document.body) return;
    const next = count > 0 ? group.current : document.getElementById('conversation');
    next?.focus({ preventScroll: true });
  }, [count]);
  return {
    ref: group,
    onFocus: () => {
      hasFocus.current = true;
    },
    onBlur: () => {
      hasFocus.current = false;
    },
  };
}

function findScript(scriptId: string | undefined, { entries }: RunView): ScriptView | undefined {
  for (const entry of entries)
    if (entry.type === 'script' && scriptId !== undefined && entry.script.scriptId === scriptId) return entry.script;
  return undefined;
}

function Working({ view }: { readonly view: RunView }) {
  const last = view.entries.at(-1);
  const isBusy = last?.type === 'script' && ['typing', 'executing'].includes(last.script.status);
  if (isBusy) return null;
  return (
    <p className="working dim" role="status">
      <span className="dot" data-status="executing" />{' '}
      {view.retry === undefined
        ? 'The model works …'
        : `The model did not answer: ${view.retry.message} The next attempt follows at ${new Date(view.retry.at).toLocaleTimeString()}.`}
    </p>
  );
}

function RunEnd({ view, onRetry }: { readonly view: RunView; readonly onRetry: EntryViewProps['onEdit'] }) {
  const { status, error, entries } = view;
  if (!['failed', 'cancelled', 'incomplete'].includes(status)) return null;
  const prompt = entries.find((entry) => entry.type === 'message' && entry.item.role === 'user');
  return (
    <div className={status === 'failed' ? 'failure' : 'run-end'}>
      <span>
        {status === 'cancelled' && 'Stopped.'}
        {status === 'incomplete' && 'The answer is incomplete.'}
        {status === 'failed' && (error === undefined ? 'The run failed.' : `${error.code}: ${error.message}`)}
      </span>
      {prompt?.type === 'message' && (
        <button
          type="button"
          className="link"
          onClick={() => onRetry(filesIn(prompt.item.content).prompt, filesIn(prompt.item.content).files)}
        >
          Try again
        </button>
      )}
    </div>
  );
}
