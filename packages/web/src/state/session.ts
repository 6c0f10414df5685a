import { createContext, use } from 'react';
import { createClient, type Agent, type Approval, type Client, type ThreadSummary } from '@toolscript/client';
import { DecisionWatch } from '../approval/decision-watch.ts';
import type { Prompt } from '../page/prompt.ts';
import type { RunStage } from '../view/conversation-state.ts';
import { Polled } from './polled.ts';
import { Router } from './route.ts';
import { Store } from './store.ts';

const APPROVALS_MS = 3_000;
const THREADS_MS = 6_000;
const AGENTS_MS = 60_000;

/** The number of conversations that are listed at first, and the number that each click adds. */
export const THREADS_PAGE = 100;

interface ThreadListing {
  readonly threads: readonly ThreadSummary[];
  /** Whether the server has more conversations. */
  readonly hasMore: boolean;
}

/** The services of the page: everything that a component needs except its own state. */
export interface Session {
  readonly client: Client;
  readonly token: string;
  readonly router: Router;
  readonly threads: Polled<ThreadListing>;
  /** The maximum number of listed conversations. */
  readonly shownThreads: Store<number>;
  readonly approvals: Polled<readonly Approval[]>;
  readonly agents: Polled<readonly Agent[]>;
  /** The words of the search field. */
  readonly search: Store<string>;
  /** Lets keys and clicks decide about calls. */
  readonly decisions: DecisionWatch;
  /** The id of the approval whose card gets the focus when it is shown; empty if there is none. */
  readonly approvalToFocus: Store<string>;
  /** The text that was typed while a sent prompt opened another conversation, whose field continues with it. */
  readonly continuedPrompt: Store<Prompt | undefined>;
  /** The state of the conversation on the page; undefined if there is none. */
  readonly currentStage: Store<RunStage | undefined>;
  /** One message about the last action. */
  readonly notice: Store<string>;
}

export function openSession(token: string): Session {
  const client = createClient({ baseUrl: document.baseURI, token });
  const search = new Store('');
  const shownThreads = new Store(THREADS_PAGE);
  const loadThreads = () => listThreads(client, search.value.trim(), shownThreads.value);
  return {
    client,
    token,
    router: new Router(new URL(document.baseURI).pathname),
    threads: new Polled(loadThreads, THREADS_MS),
    approvals: new Polled(async () => (await client.approvals.list({ limit: 100 })).data, APPROVALS_MS),
    agents: new Polled(async () => (await client.agents.list()).data, AGENTS_MS),
    search,
    shownThreads,
    decisions: new DecisionWatch(),
    approvalToFocus: new Store(''),
    continuedPrompt: new Store<Prompt | undefined>(undefined),
    currentStage: new Store<RunStage | undefined>(undefined),
    notice: new Store(''),
  };
}

async function listThreads(client: Client, text: string, count: number): Promise<ThreadListing> {
  const threads: ThreadSummary[] = [];
  let after: string | undefined;
  do {
    const query = { limit: THREADS_PAGE, ...(text === '' ? {} : { text }), ...(after === undefined ? {} : { after }) };
    const page = await client.threads.list(query);
    threads.push(...page.data);
    after = page.next;
  } while (after !== undefined && threads.length < count);
  return { threads, hasMore: after !== undefined };
}

export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = use(SessionContext);
  if (session === undefined)
    throw new Error(
      'A component is used outside of its session. This is a fault of Toolscript; please report it with this message.',
    );
  return session;
}

/** The sentence to show for any error of a request. */
export function errorText(error: unknown): string {
  if (error instanceof TypeError)
    return 'The server cannot be reached. Check that the server runs and that your network works.';
  return error instanceof Error ? error.message : String(error);
}
