import { useRef, useState } from 'react';
import type { Approval } from '@toolscript/client';
import { errorText, useSession } from '../state/session.ts';
import { argumentSummary } from '../view/format.ts';
import { DecisionButton } from './decision-button.tsx';
import { useDecisionGuard } from './use-decision-guard.ts';
import { visible } from '../view/visible.ts';

interface ApprovalBatchProps {
  readonly runId: string;
  readonly approvals: readonly Approval[];
}

/** Several pending calls of one run. The checked calls are approved together, and each call also keeps its own card. */
export function ApprovalBatch({ runId, approvals: pending }: ApprovalBatchProps) {
  const { client, approvals, notice } = useSession();
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [isSending, setSending] = useState(false);
  const element = useRef<HTMLFieldSetElement>(null);
  const { readiness, mayDecide } = useDecisionGuard(`batch of ${runId}`, element);
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
      {pending.map(({ approvalId, tool, input, line }) => (
        <label key={approvalId} data-read>
          <input type="checkbox" checked={!left.has(approvalId)} onChange={() => toggle(approvalId)} />
          <code>{visible(tool)}</code> <span className="cut">{argumentSummary(input)}</span>
          {line !== undefined && <span className="dim">line {line}</span>}
        </label>
      ))}
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
