import { isRecord } from './json.js';
import type { HostedCodeItem, OutputItem } from './items.js';

/*
 * Code that a provider runs, as a conversation shows it:
 *
 *   running ──its output──▶ ended
 *      └── a user or system message, or a request that cannot resume the code ──▶ lost
 *
 * Only code that has called tools can become lost. A request cannot resume code if the request lets no code call tools,
 * or if its format needs a container and there is no usable one. The newest item with a `container` names the
 * container. An expired container is not used again.
 */

export interface HostedCode {
  /** Code that waits for results of its calls. */
  readonly waiting: readonly HostedCodeItem[];
  /** Code that called tools and can no longer be resumed. */
  readonly lost: readonly HostedCodeItem[];
  /** The id of the container to reuse. */
  readonly container: string | undefined;
}

/** The error code for a provider that no longer has the container of the code that it ran. */
export const CONTAINER_LOST = 'HostedContainerExpired';

export interface HostedCodeView {
  /** The wire format of the next request. */
  readonly api: string;
  /** Whether the next request lets code call tools. */
  readonly isOffered: boolean;
  /** The current time, in ms since 1970. */
  readonly now: number;
}

/** The `call_id` of the hosted code that made a call; undefined if the model made the call. */
export function codeOfCall({ caller }: Readonly<Record<string, unknown>>): string | undefined {
  if (!isRecord(caller) || caller['type'] === 'direct') return undefined;
  const id = caller['tool_id'] ?? caller['caller_id'];
  return typeof id === 'string' && id !== '' ? id : undefined;
}

export function hostedCodeIn(conversation: readonly OutputItem[], { api, isOffered, now }: HostedCodeView): HostedCode {
  const open = new Map<string, HostedCodeItem>();
  const called = new Set<string>();
  const lost = new Set<HostedCodeItem>();
  const lose = (codes: Iterable<HostedCodeItem>): void => {
    for (const code of codes) if (called.has(code.call_id)) lost.add(code);
  };
  let container: Container | undefined;
  for (const item of conversation) {
    if (item.type === 'hosted_code' && item.api === api) open.set(item.call_id, item);
    else if (item.type === 'hosted_code_output') open.delete(item.call_id);
    else if (item.type === 'function_call') called.add(codeOfCall(item) ?? '');
    else if (item.type === 'message' && item.role !== 'assistant') {
      const before = lost.size;
      lose(open.values());
      // Lost code may still wait in its container, so the container is not used again.
      if (lost.size > before) container = undefined;
    }
    container = 'container' in item && item.api === api ? hostedContainer(item['container']) : container;
  }
  for (const code of open.values()) if (code.lost === true) lost.add(code);
  const isUsable = container !== undefined && !(container.expiresAt <= now);
  if (!isOffered || (!isUsable && NEEDS_CONTAINER.includes(api))) lose(open.values());
  const waiting = [...open.values()].filter((code) => called.has(code.call_id) && !lost.has(code));
  return { waiting, lost: [...lost], container: isUsable ? container?.id : undefined };
}

const NEEDS_CONTAINER: readonly string[] = ['anthropic-messages'];

interface Container {
  readonly id: string;
  /** The expiry in ms since 1970; NaN if the provider did not report it. */
  readonly expiresAt: number;
}

function hostedContainer(value: unknown): Container | undefined {
  if (!isRecord(value) || typeof value['id'] !== 'string') return undefined;
  return { id: value['id'], expiresAt: Date.parse(String(value['expires_at'])) };
}

/** The newest item with a `container`, which names the container in use; undefined if it names none. */
export function containerHolder(conversation: readonly OutputItem[]): OutputItem | undefined {
  const item = conversation.findLast((candidate) => 'container' in candidate);
  return item !== undefined && isRecord(item['container']) ? item : undefined;
}
