// The guest in a realm of V8, with the same bridge modules as in QuickJS. This module adds the facts that QuickJS
// itself reports to its host: the positions of calls, and whether the engine's own limits ended the script.
import { callPlace, exceededLimit, presentStacks, setClock } from './realm.js';
import makeBridge from '../../../core/src/sandbox/guest/main.js';
import { scriptStack } from '../../../core/src/sandbox/guest/bridge/stacks.js';

interface Bridge {
  begin(initText: string): void;
  start(script: () => Promise<unknown>): void;
  settle(batchText: string): void;
  flush(): string;
}

/** Returns the functions that the host calls. */
export default function makeGuest(): object {
  let places = '';
  let limit = '-';
  const bridge = makeBridge(() => {
    places += callPlace();
  }) as Bridge;
  presentStacks(scriptStack);
  return {
    begin(clockMs: number, initText: string): void {
      setClock(clockMs);
      bridge.begin(initText);
    },
    start(script: () => Promise<unknown>): void {
      bridge.start(async () => {
        try {
          return await script();
        } catch (error) {
          limit = exceededLimit(error);
          throw error;
        }
      });
    },
    settle(clockMs: number, batchText: string): void {
      setClock(clockMs);
      bridge.settle(batchText);
    },
    /** Returns the positions of the segment's calls, the mark of `exceededLimit`, and the bridge's own message. */
    flush(): string {
      const text = places + limit + bridge.flush();
      places = '';
      return text;
    },
  };
}
