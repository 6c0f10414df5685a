import type { ReactNode } from 'react';
import { Link } from './link.tsx';
import { ScopeButton } from './scope-button.tsx';
import { useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import type { RunFeed } from '../state/run-feed.ts';
import { conversationState, STAGE_TEXTS, type RunStage } from '../view/conversation-state.ts';
import { count, dollars, plural } from '../view/format.ts';
import type { ThreadState } from './use-thread.ts';

interface ConversationHeadProps {
  readonly state: ThreadState;
  readonly menuButton: ReactNode;
  readonly fileCount: number;
  /** Whether the files are shown. */
  readonly showsFiles: boolean;
  readonly onFiles: () => void;
}

export function ConversationHead({
  state: { thread, feeds, stages },
  menuButton,
  fileCount,
  showsFiles,
  onFiles,
}: ConversationHeadProps) {
  const { threads } = useSession();
  const listed = useStore(threads.store).value?.threads.find(({ threadId }) => threadId === thread?.threadId);
  const last = feeds.at(-1);
  const stage = conversationState(stages);
  return (
    <header className="main-head">
      {menuButton}
      <h1 dir="auto">{listed?.title ?? thread?.title ?? ''}</h1>
      {thread?.branchOf !== undefined && <BranchMark threadId={thread.branchOf.threadId} />}
      {thread?.agentId !== undefined && <span className="pill">{thread.agentId}</span>}
      <span className="space" />
      {thread !== undefined && <ScopeButton thread={thread} />}
      {(fileCount > 0 || showsFiles) && (
        <button type="button" className="pill files-button" aria-expanded={showsFiles} onClick={onFiles}>
          {plural(fileCount, 'file')}
        </button>
      )}
      {last !== undefined && stage !== undefined && <RunFacts feed={last} stage={stage} />}
    </header>
  );
}

/** A link to the conversation of which this conversation is a branch. */
function BranchMark({ threadId }: { readonly threadId: string }) {
  return (
    <Link to={{ page: 'thread', threadId }} className="pill" title="The conversation that this one branched from">
      branch
    </Link>
  );
}

interface RunFactsProps {
  readonly feed: RunFeed;
  /** The state of the conversation. */
  readonly stage: RunStage;
}

function RunFacts({ feed, stage }: RunFactsProps) {
  const { view, connection } = useStore(feed.store);
  const { usage, cost } = view;
  const tokens = usage === undefined ? 0 : usage.input_tokens + usage.output_tokens;
  return (
    <>
      {tokens > 0 && (
        <span className="pill wide" title={`${usage!.input_tokens} read, ${usage!.output_tokens} written`}>
          {usage!.estimated === true ? '≈ ' : ''}
          {count(tokens)} tokens
          {cost !== undefined && ` · ${dollars(cost)}`}
        </span>
      )}
      <span className="pill" data-status={stage} role="status">
        {connection === 'retrying' ? 'Reconnecting …' : STAGE_TEXTS[stage]}
      </span>
    </>
  );
}
