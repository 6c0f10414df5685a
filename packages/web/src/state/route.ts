import { decodedPart } from '../view/decoded.ts';
import { Store } from './store.ts';

export type Route = { readonly page: 'new' } | { readonly page: 'thread'; readonly threadId: string } | SettingsRoute;

interface SettingsRoute {
  readonly page: 'settings';
  readonly section: string;
}

/**
 * The route of an address below the page's base, such as `threads/thr_1`. An unknown address means a new conversation.
 */
export function addressRoute(path: string): Route {
  const [first = '', second = ''] = path.replace(/^\//u, '').split('/');
  const threadId = first === 'threads' ? decodedPart(second) : undefined;
  if (threadId !== undefined && threadId !== '') return { page: 'thread', threadId };
  if (first === 'settings') return { page: 'settings', section: second === '' ? 'agents' : second };
  return { page: 'new' };
}

export function routePath(route: Route): string {
  if (route.page === 'thread') return `threads/${encodeURIComponent(route.threadId)}`;
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
    const { pathname } = location;
    return addressRoute(pathname.startsWith(this.#base) ? pathname.slice(this.#base.length) : '');
  }
}
