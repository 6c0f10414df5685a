const KEY = 'toolscript-feedback';

/** The user's opinion of an answer. This browser keeps it. */
export interface Feedback {
  readonly threadId: string;
  readonly runId: string;
  readonly rating: 'good' | 'bad';
  readonly note: string;
  /** The text of the answer. */
  readonly answer: string;
  /** The time of the feedback, in ISO 8601. */
  readonly at: string;
}

export function allFeedback(): readonly Feedback[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(stored) ? (stored as Feedback[]) : [];
  } catch {
    return [];
  }
}

/** Stores the feedback to an answer, over an earlier one. */
export function storeFeedback(feedback: Feedback): void {
  const others = allFeedback().filter(({ runId }) => runId !== feedback.runId);
  localStorage.setItem(KEY, JSON.stringify([...others, feedback]));
}

/** All feedback as JSON Lines. */
export function feedbackLines(): string {
  return allFeedback()
    .map((feedback) => `${JSON.stringify(feedback)}\n`)
    .join('');
}
