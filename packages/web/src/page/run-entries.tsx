import { memo, useCallback, useEffect, useState } from 'react';
import { subAgentEvent, type StreamEvent } from '@toolscript/core/stream';
import { Markdown } from '../parts/markdown.tsx';
import { CodeLines } from '../parts/code-lines.tsx';
import { ShownPart } from '../parts/shown-part.tsx';
import { useNow } from '../parts/use-now.ts';
import type { ReadEvents } from '../script/replay-bar.tsx';
import { TurnChanges } from '../script/turn-changes.tsx';
import { ScriptCard } from '../script/script-card.tsx';
import type { RunFeed } from '../state/run-feed.ts';
import { RunIdContext } from '../state/selection.ts';
import { errorText, useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import { filesIn } from '../view/attached-files.ts';
import { duration } from '../view/format.ts';
import type { AgentView, Entry, MessageItem, RunView } from '../view/types.ts';
import { visible } from '../view/visible.ts';
import type { Attachment } from './attachments.tsx';
import { AnswerBar } from './answer-bar.tsx';
import { CallEntry } from './call-entry.tsx';
import { MessageEntry } from './message-entry.tsx';
import type { Prompt } from './prompt.ts';
import { messageAttachments } from './user-message.tsx';

interface RunEntriesProps {
  readonly feed: RunFeed;
  /** Copies an earlier prompt into the field. */
  readonly onEdit: (draft: Prompt) => void;
  /** The user's messages, if the run ended before it began. */
  readonly unbegun?: readonly MessageItem[] | undefined;
}

/** The entries of one run, and its pending calls. */
export function RunEntries({ feed, onEdit, unbegun = [] }: RunEntriesProps) {
  const { view, turnId, connection, error } = useStore(feed.store);
  useMissingApprovals(feed.runId, view);
  const onEditPrompt = useCallback<EntryViewProps['onEdit']>(
    (text, attachments) => onEdit({ text, attachments, branchBefore: turnId }),
    [onEdit, turnId],
  );
  const prompt = firstPrompt(view);
  const route = useStore(useSession().router.store);
  const { threadId, target } = route.page === 'thread' ? route : {};
  const isLinked = target?.runId === feed.runId;
  return (
    // Screen readers announce the answer when it is complete.
    <section
      className="run"
      aria-label="Turn"
      id={feed.runId}
      aria-current={isLinked ? 'location' : undefined}
      aria-busy={view.status === 'in_progress'}
    >
      <RunIdContext value={feed.runId}>
        {unbegun.map((item) => (
          <MessageEntry key={item.id} item={item} onEdit={onEditPrompt} />
        ))}
        {view.entries.map((entry) => (
          <ShownPart key={entry.key} of={entry.type === 'script' ? entry.script : entry}>
            <EntryView entry={entry} readEvents={feed.readEvents} onEdit={onEditPrompt} />
          </ShownPart>
        ))}
      </RunIdContext>
      {connection === 'live' && view.status === 'in_progress' && <Working view={view} />}
      {unbegun.length > 0 ? (
        connection === 'ended' && <p className="run-end">Removed before it began.</p>
      ) : (
        <RunEnd view={view} onRetry={onEditPrompt} />
      )}
      {threadId !== undefined && (
        <AnswerBar
          runId={feed.runId}
          threadId={threadId}
          view={view}
          onRetry={prompt === undefined ? undefined : () => editMessage(prompt, onEditPrompt)}
        />
      )}
      <TurnChanges view={view} />
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
          {run.status === 'in_progress' ? 'working' : run.status} · {duration((endedAt ?? now) - startedAt)}
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
  cancelled: 'stopped',
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

/** Reads the pending calls again if the run waits for one that the list lacks. */
function useMissingApprovals(runId: string, { status }: RunView): void {
  const { approvals } = useSession();
  const all = useStore(approvals.store).value ?? [];
  const isMissing = status === 'suspended' && !all.some((approval) => approval.runId === runId);
  useEffect(() => {
    if (isMissing) void approvals.refresh();
  }, [isMissing, approvals]);
}

function Working({ view }: { readonly view: RunView }) {
  const last = view.entries.at(-1);
  const isBusy = last?.type === 'script' && ['typing', 'executing'].includes(last.script.status);
  if (isBusy) return null;
  return (
    <p className="working dim" role="status">
      <span className="dot" data-status="executing" />{' '}
      {view.retry === undefined
        ? 'Working…'
        : `The model did not answer: ${view.retry.message} The next attempt follows at ${new Date(view.retry.at).toLocaleTimeString()}.`}
    </p>
  );
}

function RunEnd({ view, onRetry }: { readonly view: RunView; readonly onRetry: EntryViewProps['onEdit'] }) {
  const { status, error } = view;
  if (!['failed', 'cancelled', 'incomplete'].includes(status)) return null;
  const prompt = firstPrompt(view);
  return (
    <div className={status === 'failed' ? 'failure' : 'run-end'}>
      <span>
        {status === 'cancelled' && 'Stopped.'}
        {status === 'incomplete' && 'The answer is incomplete.'}
        {status === 'failed' && (error === undefined ? 'The run failed.' : `${error.code}: ${error.message}`)}
      </span>
      {prompt !== undefined && (
        <button type="button" className="link" onClick={() => editMessage(prompt, onRetry)}>
          Try again
        </button>
      )}
    </div>
  );
}

function firstPrompt({ entries }: RunView): MessageItem | undefined {
  const found = entries.find((entry) => entry.type === 'message' && entry.item.role === 'user');
  return found?.type === 'message' ? found.item : undefined;
}

/** Copies a message into the field. */
function editMessage(item: MessageItem, onEdit: EntryViewProps['onEdit']): void {
  const { prompt, files } = filesIn(item.content);
  onEdit(prompt, [...files, ...messageAttachments(item)]);
}
