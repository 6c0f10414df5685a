import { decodedPart } from '../view/decoded.ts';
import { Store } from './store.ts';

export type Route = { readonly page: 'new' } | ThreadRoute | SettingsRoute;

interface ThreadRoute {
  readonly page: 'thread';
  readonly threadId: string;
  /** The part of the conversation to show. */
  readonly target?: LinkTarget | undefined;
}

/** A turn, or a call in it, that a link names. */
export interface LinkTarget {
  readonly runId: string;
  readonly callId?: string | undefined;
}

interface SettingsRoute {
  readonly page: 'settings';
  readonly section: string;
}

/**
 * The route of an address below the page's base, such as `threads/thr_1#turn=run_1/call_2`. An unknown address means a
 * new conversation.
 */
export function addressRoute(address: string): Route {
  const [path = '', fragment = ''] = address.replace(/^\//u, '').split('#');
  const [first = '', second = ''] = path.split('/');
  const threadId = first === 'threads' ? decodedPart(second) : undefined;
  if (threadId !== undefined && threadId !== '') return { page: 'thread', threadId, target: linkTarget(fragment) };
  if (first === 'settings') return { page: 'settings', section: second === '' ? 'agents' : second };
  return { page: 'new' };
}

function linkTarget(fragment: string): LinkTarget | undefined {
  const [runId, callId] = (/^turn=(.+)$/u.exec(fragment)?.[1] ?? '').split('/').map(decodedPart);
  return runId === undefined || runId === '' ? undefined : { runId, callId };
}

export function routePath(route: Route): string {
  if (route.page === 'thread') {
    const { runId, callId } = route.target ?? {};
    const parts = [runId, callId].filter((part) => part !== undefined).map(encodeURIComponent);
    return `threads/${encodeURIComponent(route.threadId)}${parts.length === 0 ? '' : `#turn=${parts.join('/')}`}`;
  }
  return route.page === 'settings' ? `settings/${route.section}` : '';
}

/** The route of the page's own address. */
export class Router {
  readonly store: Store<Route>;
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
    this.store = new Store(this.#current());
    addEventListener('popstate', () => this.store.set(this.#current()));
  }

  go(route: Route): void {
    history.pushState(null, '', this.address(route));
    this.store.set(route);
  }

  address(route: Route): string {
    return this.#base + routePath(route);
  }

  #current(): Route {
    const { pathname, hash } = location;
    return addressRoute(pathname.startsWith(this.#base) ? pathname.slice(this.#base.length) + hash : '');
  }
}
