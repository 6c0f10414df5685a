import { lazy, Suspense, useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { ProblemError } from '@toolscript/client';
import { useFiles, type FilesState } from '../files/use-files.ts';
import type { RunFeed } from '../state/run-feed.ts';
import { RunIdContext, SelectionContext, type Selection } from '../state/selection.ts';
import { errorText, useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import { conversationState, stoppedRun } from '../view/conversation-state.ts';
import type { CallView, ScriptView } from '../view/types.ts';
import { takesKeys } from '../approval/page-sight.ts';
import { ReviewDock } from '../approval/review-dock.tsx';
import { Composer } from './composer.tsx';
import { ConversationHead } from './conversation-head.tsx';
import { Inspector } from './inspector.tsx';
import { Link } from './link.tsx';
import { QueuedMessage } from './queued-message.tsx';
import { RunEntries } from './run-entries.tsx';
import type { Prompt } from './prompt.ts';
import { submitPrompt } from './submit-prompt.ts';
import { useLinkTarget } from './use-link-target.ts';
import { useStickToEnd } from './use-stick-to-end.ts';
import { useThread, type ThreadState } from './use-thread.ts';

const FilesPanel = lazy(() => import('../files/files-panel.tsx'));

interface ConversationProps {
  readonly threadId: string;
  readonly menuButton: ReactNode;
}

/** One conversation, live. */
export function Conversation({ threadId, menuButton }: ConversationProps) {
  const state = useThread(threadId);
  const [selected, setSelected] = useState<{
    call: CallView;
    script: ScriptView | undefined;
    runId: string | undefined;
  }>();
  const selection = useMemo<Selection>(
    () => ({
      callId: selected?.call.callId,
      select: (call, script, runId) => {
        setShowsFiles(false);
        setSelected(call === undefined ? undefined : { call, script, runId });
      },
    }),
    [selected],
  );
  const files = useFiles(threadId);
  const [showsFiles, setShowsFiles] = useState(false);
  const [draft, setDraft] = useState<Prompt>();
  const scroller = useRef<HTMLDivElement>(null);
  const { router } = useSession();
  const route = useStore(router.store);
  const target = route.page === 'thread' ? route.target : undefined;
  useStickToEnd(scroller, target);
  useLinkTarget(state, target, selection.select);
  useApprovalNavigation();
  useCurrentStage(state.stages);
  const toggleFiles = () => {
    setSelected(undefined);
    setShowsFiles(!showsFiles);
  };
  return (
    <SelectionContext value={selection}>
      <main className="main conversation" data-inspector={selected !== undefined || showsFiles || undefined}>
        <ConversationHead
          state={state}
          menuButton={menuButton}
          fileCount={files.files.length}
          showsFiles={showsFiles}
          onFiles={toggleFiles}
        />
        <div className="scroller" ref={scroller} tabIndex={0} role="region" aria-label="Conversation" id="conversation">
          <div className="column">
            <Messages state={state} onEdit={setDraft} />
          </div>
        </div>
        <ReviewDock threadId={threadId} feeds={state.feeds} />
        <ThreadComposer state={state} threadId={threadId} draft={draft} />
        {showsFiles && <Files threadId={threadId} {...files} onClose={() => setShowsFiles(false)} />}
        {selected !== undefined && (
          <RunIdContext value={selected.runId}>
            <Inspector call={selected.call} script={selected.script} onClose={() => setSelected(undefined)} />
          </RunIdContext>
        )}
      </main>
    </SelectionContext>
  );
}

/** Reports the state of the conversation to the title of the tab. */
function useCurrentStage(stages: ThreadState['stages']): void {
  const { currentStage } = useSession();
  const stage = conversationState(stages);
  useEffect(() => {
    currentStage.set(stage);
    return () => currentStage.set(undefined);
  }, [stage, currentStage]);
}

function Messages({ state, onEdit }: { readonly state: ThreadState; readonly onEdit: (prompt: Prompt) => void }) {
  return (
    <>
      {state.error !== undefined && !isDeleted(state) && (
        <p className="error-text" role="alert">
          {errorText(state.error)}
        </p>
      )}
      {state.earlierRuns > 0 && (
        <button type="button" className="link" onClick={state.showEarlier}>
          Show earlier messages
        </button>
      )}
      {state.feeds.map((feed) => (
        <RunOfThread key={feed.runId} state={state} feed={feed} onEdit={onEdit} />
      ))}
    </>
  );
}

interface RunOfThreadProps {
  readonly state: ThreadState;
  readonly feed: RunFeed;
  readonly onEdit: (prompt: Prompt) => void;
}

/** A run: its entries, or its messages while it has none. */
function RunOfThread({ state, feed, onEdit }: RunOfThreadProps) {
  const { runs, stages, messages } = state;
  const cancel = useCancel(state);
  const { view } = useStore(feed.store);
  const items = messages.get(feed.runId) ?? [];
  const index = runs.findIndex(({ runId }) => runId === feed.runId);
  if (view.entries.length > 0 || items.length === 0) return <RunEntries feed={feed} onEdit={onEdit} />;
  if (stages[index] !== 'queued') return <RunEntries feed={feed} onEdit={onEdit} unbegun={items} />;
  const working = stages.indexOf('working');
  const isNext = working !== -1 && stages.indexOf('queued') === index;
  return (
    <QueuedMessage
      items={items}
      onRemove={() => cancel(feed.runId)}
      onSendNow={isNext ? () => cancel(runs[working]!.runId) : undefined}
      onEdit={onEdit}
    />
  );
}

function useCancel({ reload }: Pick<ThreadState, 'reload'>): (runId: string) => void {
  const { client, notice } = useSession();
  return (runId) => {
    client.runs.cancel(runId).then(reload, (error: unknown) => notice.set(errorText(error)));
  };
}

/** The panel of files. Its code is loaded when the panel is opened. */
function Files({ threadId, files, hasMore, reload, onClose }: FilesState & { threadId: string; onClose: () => void }) {
  return (
    <Suspense fallback={null}>
      <FilesPanel threadId={threadId} files={files} hasMore={hasMore} onChange={reload} onClose={onClose} />
    </Suspense>
  );
}

interface ThreadComposerProps {
  readonly state: ThreadState;
  readonly threadId: string;
  readonly draft: Prompt | undefined;
}

function ThreadComposer({ state, threadId, draft }: ThreadComposerProps) {
  const session = useSession();
  if (isDeleted(state)) return <DeletedNotice />;
  const send = async (prompt: Prompt) => {
    try {
      const submitted = await submitPrompt(session, prompt, { threadId });
      if (submitted.threadId === threadId) state.follow(submitted.runId);
      else session.router.go({ page: 'thread', threadId: submitted.threadId });
      return true;
    } catch (error) {
      session.notice.set(errorText(error));
      return false;
    }
  };
  return (
    <div className="composer-place">
      <ComposerOfThread state={state} onSend={send} draft={draft} />
    </div>
  );
}

function isDeleted({ thread, error }: ThreadState): boolean {
  return thread !== undefined && error instanceof ProblemError && error.status === 404;
}

function DeletedNotice() {
  return (
    <p className="composer-place deleted" role="status">
      This conversation was deleted. <Link to={{ page: 'new' }}>Start a new conversation</Link>
    </p>
  );
}

interface ComposerOfThreadProps extends Pick<ThreadComposerProps, 'state' | 'draft'> {
  readonly onSend: (prompt: Prompt) => Promise<boolean>;
}

function ComposerOfThread({ state, onSend, draft }: ComposerOfThreadProps) {
  const { runs, stages } = state;
  const cancel = useCancel(state);
  const index = stoppedRun(stages);
  const run = index === undefined ? undefined : runs[index];
  return (
    <Composer
      onSend={onSend}
      onStop={run === undefined ? undefined : () => cancel(run.runId)}
      draft={draft}
      placeholder={conversationState(stages) === 'waiting' ? 'Decide first, or reply…' : 'Reply…'}
    />
  );
}

/** On a focused card, j and k move between the calls that wait for the user, in all conversations. */
function useApprovalNavigation(): void {
  const { approvals, router, approvalToFocus } = useSession();
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const step = { j: 1, k: -1 }[event.key];
      const pending = approvals.store.value.value ?? [];
      const current = document.activeElement?.closest<HTMLElement>('[data-approval]');
      if (step === undefined || pending.length === 0 || !current || !takesKeys(current)) return;
      const index = pending.findIndex(({ approvalId }) => approvalId === current.dataset['approval']);
      const next = pending[(index + step + pending.length) % pending.length]!;
      event.preventDefault();
      const card = document.querySelector<HTMLElement>(`[data-approval="${next.approvalId}"]`);
      if (card !== null) return card.focus();
      approvalToFocus.set(next.approvalId);
      const route = router.store.value;
      if (route.page === 'thread' && route.threadId === next.threadId) current.blur();
      else router.go({ page: 'thread', threadId: next.threadId });
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [approvals, router, approvalToFocus]);
}
