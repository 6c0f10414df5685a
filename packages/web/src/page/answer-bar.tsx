import { useState } from 'react';
import { CopyButton } from '../parts/copy-button.tsx';
import { IconButton } from '../parts/icon-button.tsx';
import { allFeedback, storeFeedback, type Feedback } from '../state/feedback.ts';
import type { RunView } from '../view/types.ts';

interface AnswerBarProps {
  readonly runId: string;
  readonly threadId: string;
  readonly view: RunView;
  /** Asks the prompt of the turn again, in a branch. Undefined: the turn has no prompt. */
  readonly onRetry: (() => void) | undefined;
}

/** Copy, retry and feedback, below an answer that has ended. */
export function AnswerBar({ runId, threadId, view, onRetry }: AnswerBarProps) {
  const answer = answerText(view);
  if (view.status !== 'completed' || answer === '') return null;
  return (
    <div className="answer-bar" role="group" aria-label="This answer">
      <CopyButton text={answer} label="Copy the answer" />
      {onRetry !== undefined && <IconButton icon="retry" label="Ask again" onClick={onRetry} />}
      <FeedbackButtons runId={runId} threadId={threadId} answer={answer} />
    </div>
  );
}

/** The last message of the model. */
function answerText({ entries }: RunView): string {
  const last = entries.findLast((entry) => entry.type === 'message' && entry.item.role === 'assistant');
  return last?.type === 'message' ? last.item.content : '';
}

function FeedbackButtons({ runId, threadId, answer }: Pick<Feedback, 'runId' | 'threadId' | 'answer'>) {
  const [feedback, setFeedback] = useState(() => allFeedback().find((each) => each.runId === runId));
  const store = (change: Partial<Feedback>) => {
    const base = { rating: 'good', note: '', ...feedback } as const;
    const next: Feedback = { ...base, ...change, runId, threadId, answer, at: new Date().toISOString() };
    storeFeedback(next);
    setFeedback(next);
  };
  return (
    <>
      {(['good', 'bad'] as const).map((rating) => (
        <button
          key={rating}
          type="button"
          className="link"
          aria-pressed={feedback?.rating === rating}
          onClick={() => store({ rating })}
        >
          {rating === 'good' ? 'Good' : 'Bad'}
        </button>
      ))}
      {feedback !== undefined && (
        <input
          aria-label="Note about the answer"
          placeholder="Note"
          dir="auto"
          value={feedback.note}
          onChange={(event) => store({ note: event.target.value })}
        />
      )}
    </>
  );
}
