import { useRef, useState } from 'react';
import type { Approval } from '@toolscript/client';
import { errorText, useSession } from '../state/session.ts';
import { callTitle } from './call-preview.tsx';
import { DecisionButton } from './decision-button.tsx';
import { useDecisionGuard } from './use-decision-guard.ts';
import { visible } from '../view/visible.ts';

interface ApprovalBatchProps {
  readonly threadId: string;
  readonly approvals: readonly Approval[];
  /** The call whose card is shown. */
  readonly shownId: string;
  readonly onShow: (approvalId: string) => void;
}

/** The pending calls of a conversation: one of them is shown, and the checked ones are approved together. */
export function ApprovalBatch({ threadId, approvals: pending, shownId, onShow }: ApprovalBatchProps) {
  const { client, approvals, notice } = useSession();
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [isSending, setSending] = useState(false);
  const element = useRef<HTMLFieldSetElement>(null);
  const { readiness, mayDecide } = useDecisionGuard(`batch of ${threadId}`, element);
  const ticked = pending.filter(({ approvalId }) => !left.has(approvalId));
  const toggle = (approvalId: string) => {
    const next = new Set(left);
    if (!next.delete(approvalId)) next.add(approvalId);
    setLeft(next);
  };
  const approve = async () => {
    setSending(true);
    for (const { approvalId } of ticked) {
      await client.approvals.decide(approvalId, 'approve').catch((error: unknown) => notice.set(errorText(error)));
    }
    setSending(false);
    await approvals.refresh();
  };
  return (
    <fieldset ref={element} className="card batch">
      <legend data-read>{pending.length} calls wait for you</legend>
      <p className="dim">
        {pending.findIndex(({ approvalId }) => approvalId === shownId) + 1} of {pending.length}
      </p>
      <ul>
        {pending.map((approval) => (
          <BatchedCall
            key={approval.approvalId}
            approval={approval}
            isChecked={!left.has(approval.approvalId)}
            isShown={approval.approvalId === shownId}
            onToggle={() => toggle(approval.approvalId)}
            onShow={() => onShow(approval.approvalId)}
          />
        ))}
      </ul>
      <div className="decision-buttons">
        <span className="space" />
        <DecisionButton
          className="primary"
          mayDecide={mayDecide}
          isWaiting={isSending || readiness.buttons === 'settling'}
          disabled={ticked.length === 0}
          onDecide={() => void approve()}
        >
          Approve {ticked.length} of {pending.length}
        </DecisionButton>
      </div>
    </fieldset>
  );
}

interface BatchedCallProps {
  readonly approval: Approval;
  readonly isChecked: boolean;
  readonly isShown: boolean;
  readonly onToggle: () => void;
  readonly onShow: () => void;
}

function BatchedCall({ approval, isChecked, isShown, onToggle, onShow }: BatchedCallProps) {
  const name = `${visible(approval.tool)}: ${callTitle(approval)}`;
  return (
    <li data-read>
      <input type="checkbox" aria-label={`Approve with the others: ${name}`} checked={isChecked} onChange={onToggle} />
      <button
        type="button"
        className="link"
        aria-label={`Show ${name}`}
        aria-current={isShown || undefined}
        onClick={onShow}
      >
        <code>{visible(approval.tool)}</code> <span>{callTitle(approval)}</span>
      </button>
    </li>
  );
}
