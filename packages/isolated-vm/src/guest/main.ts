// The guest in a realm of V8, with the same bridge modules as in QuickJS. This module adds the facts that QuickJS
// itself reports to its host: the positions of calls, and whether the engine's own limits ended the script.
import { callPlace, exceededLimit, presentStacks, setClock } from './realm.js';
import makeBridge from '../../../core/src/sandbox/guest/main.js';
import { slice, split, startsWith } from '../../../core/src/sandbox/guest/bridge/captured.js';
import { scriptStack } from '../../../core/src/sandbox/guest/bridge/stacks.js';
import { getOwnPropertyDescriptor, parse } from '../../../core/src/sandbox/guest/primordials.js';

interface Bridge {
  begin(initText: string): void;
  start(script: () => Promise<unknown>): void;
  settle(batchText: string): void;
  flush(): string;
}

/** The answers to the questions `tools`, `context` and `positions` of the bridge; see core's `guest-texts.ts`. */
let texts: object = {};

function answer(question: string): string {
  if (!startsWith(question, 'tools.')) return messageText(member(texts, question));
  const names = split(slice(question, 6), '.');
  let branch: unknown = parse(messageText(member(texts, 'tools')));
  for (let index = 0; index < names.length; index++) branch = member(branch, names[index]!);
  return typeof branch === 'object' && branch !== null ? '.' : messageText(branch);
}

function member(target: unknown, name: string): unknown {
  if (typeof target !== 'object' || target === null) return undefined;
  return getOwnPropertyDescriptor(target, name)?.value as unknown;
}

function messageText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Returns the functions that the host calls. */
export default function makeGuest(): object {
  let places = '';
  let limit = '-';
  const bridge = makeBridge((question?: string) => {
    if (question !== undefined) return answer(question);
    places += callPlace();
    return undefined;
  }) as Bridge;
  presentStacks(scriptStack);
  return {
    begin(clockMs: number, initText: string, textsJson: string): void {
      setClock(clockMs);
      texts = parse(textsJson) as object;
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
