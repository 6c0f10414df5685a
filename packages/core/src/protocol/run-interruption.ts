/**
 * The abort reason of a signal that interrupts a run so that another process can continue it. The run leaves its script
 * in the same state as the end of the process would, and `recover` continues the script.
 */
export class RunInterruption extends Error {
  override readonly name = 'RunInterruption';

  constructor() {
    super('This process interrupts the run, and another process continues it.');
  }
}
