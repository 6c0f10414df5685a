import type { EventView } from './answer-view.js';

/** Shows nothing: stdout carries data. */
export const silentView: EventView = { take: () => {}, end: () => {} };
