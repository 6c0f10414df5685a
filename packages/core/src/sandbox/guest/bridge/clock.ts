import { dateNow } from './captured.js';

let timeOrigin = 0;

export function startClock(): void {
  timeOrigin = dateNow();
}

export const performance = {
  now() {
    return dateNow() - timeOrigin;
  },
  get timeOrigin() {
    return timeOrigin;
  },
  toJSON() {
    return { timeOrigin };
  },
};
