/**
 * The time in ms for which a question must have been shown unchanged, and no other key pressed, before a key or a click
 * decides it. Input within this time was meant for what was shown before.
 */
export const DECISION_GUARD_MS = 700;
