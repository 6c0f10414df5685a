/**
 * The reason of a signal that interrupts a run here because it continues elsewhere: its script is left as the end of
 * the process would leave it, and `recover` continues it.
 */
export class RunInterruption extends Error {
  override readonly name = 'RunInterruption';

  constructor() {
    super('The run is interrupted here and continues elsewhere.');
  }
}
