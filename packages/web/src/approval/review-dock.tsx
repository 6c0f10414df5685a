import { useLayoutEffect, useRef, useState } from 'react';
import type { Approval } from '@toolscript/client';
import type { RunFeed, RunState } from '../state/run-feed.ts';
import { RunIdContext } from '../state/selection.ts';
import { useSession } from '../state/session.ts';
import { Store, useStore } from '../state/store.ts';
import type { RunView, ScriptView } from '../view/types.ts';
import { ApprovalBatch } from './approval-batch.tsx';
import { ApprovalCard } from './approval-card.tsx';

interface ReviewDockProps {
  readonly threadId: string;
  readonly feeds: readonly RunFeed[];
}

/** The calls of a conversation that wait for the user, above the prompt: their list, if there are several, and one card. */
export function ReviewDock({ threadId, feeds }: ReviewDockProps) {
  const { approvals, approvalToFocus } = useSession();
  const pending = (useStore(approvals.store).value ?? []).filter((approval) => approval.threadId === threadId);
  const [chosenId, setChosen] = useState<string>();
  const asked = useStore(approvalToFocus);
  useLayoutEffect(() => {
    if (pending.some(({ approvalId }) => approvalId === asked)) setChosen(asked);
  }, [asked, pending]);
  const focusKeeper = useFocusKeeper(pending.map(({ approvalId }) => approvalId).join());
  const wanted = asked === '' ? chosenId : asked;
  const shown = pending.find(({ approvalId }) => approvalId === wanted) ?? pending[0];
  return (
    <section
      {...focusKeeper}
      className="review-dock"
      aria-label="Calls that wait for you"
      tabIndex={-1}
      data-several={pending.length > 1 || undefined}
      hidden={shown === undefined}
    >
      {shown !== undefined && pending.length > 1 && (
        <ApprovalBatch threadId={threadId} approvals={pending} shownId={shown.approvalId} onShow={setChosen} />
      )}
      {shown !== undefined && <ShownCall key={shown.approvalId} approval={shown} feeds={feeds} />}
    </section>
  );
}

interface ShownCallProps {
  readonly approval: Approval;
  readonly feeds: readonly RunFeed[];
}

/** The card stays the same element, with its focus, when the run of its call is read. */
function ShownCall({ approval, feeds }: ShownCallProps) {
  const feed = feeds.find(({ runId }) => runId === approval.runId);
  const run = useStore<RunState | undefined>(feed?.store ?? NO_RUN);
  return (
    <div className="dock-card">
      <RunIdContext value={approval.runId}>
        <ApprovalCard approval={approval} script={run && findScript(approval.scriptId, run.view)} />
      </RunIdContext>
    </div>
  );
}

const NO_RUN = new Store<RunState | undefined>(undefined);

function findScript(scriptId: string | undefined, { entries }: RunView): ScriptView | undefined {
  for (const entry of entries)
    if (entry.type === 'script' && scriptId !== undefined && entry.script.scriptId === scriptId) return entry.script;
  return undefined;
}

/**
 * Keeps the focus near a decided card that had it: in the dock of the other calls, where Tab leads to the next one, or
 * in the conversation. No other card gets it, because the user has not read that card. `calls`: the ids of the calls.
 */
function useFocusKeeper(calls: string) {
  const dock = useRef<HTMLElement>(null);
  const hasFocus = useRef(false);
  useLayoutEffect(() => {
    if (!hasFocus.current || document.activeElement !== document.body) return;
    const next = calls === '' ? document.getElementById('conversation') : dock.current;
    next?.focus({ preventScroll: true });
  }, [calls]);
  return {
    ref: dock,
    onFocus: () => {
      hasFocus.current = true;
    },
    onBlur: () => {
      hasFocus.current = false;
    },
  };
}
