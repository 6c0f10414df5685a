import { useEffect, useRef, useState } from 'react';
import { askTabs, shareToken, signOutOfTabs } from '../state/shared-token.ts';
import { obtainToken, removeToken, storeToken } from '../state/token.ts';
import { openSession, SessionContext, useSession, type Session } from '../state/session.ts';
import { followChanges } from '../state/live-lists.ts';
import { useNotifications } from '../state/notifications.ts';
import { useStore } from '../state/store.ts';
import { ProblemError } from '@toolscript/client';
import { STAGE_TEXTS, type RunStage } from '../view/conversation-state.ts';
import { Sidebar } from './sidebar.tsx';
import { Shortcuts } from './shortcuts.tsx';
import { SignIn } from './sign-in.tsx';
import { Main } from './main-pane.tsx';
import { IconButton } from '../parts/icon-button.tsx';

export function App() {
  const [session, setSession] = useState<Session | undefined>(() => {
    const token = obtainToken();
    return token === undefined ? undefined : openSession(token);
  });
  const signIn = (token: string) => {
    storeToken(token);
    setSession(openSession(token));
  };
  // The page signs in again when the address of this tab gets a new `#token=`.
  useEffect(() => {
    const onHash = () => {
      const token = location.hash.startsWith('#token=') ? obtainToken() : undefined;
      if (token !== undefined) signIn(token);
    };
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  const token = session?.token;
  const hasAsked = useRef(token !== undefined);
  // A new tab has the session of the others. A tab that has signed out does not ask again.
  useEffect(() => {
    if (token === undefined) {
      if (hasAsked.current) return undefined;
      hasAsked.current = true;
      return askTabs(signIn);
    }
    return shareToken(token, () => {
      removeToken();
      setSession(undefined);
    });
  }, [token]);
  const signOut = () => {
    signOutOfTabs();
    setSession(undefined);
  };
  if (session === undefined) return <SignIn onToken={signIn} />;
  return (
    <SessionContext value={session} key={session.token}>
      <Shell onSignOut={signOut} />
    </SessionContext>
  );
}

function Shell({ onSignOut }: { readonly onSignOut: () => void }) {
  const session = useSession();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const route = useStore(session.router.store);
  useEffect(() => {
    const polled = [session.threads, session.approvals, session.agents];
    for (const each of polled) each.start();
    const unfollow = followChanges(session);
    return () => {
      unfollow();
      for (const each of polled) each.stop();
    };
  }, [session]);
  useEffect(() => setMenuOpen(false), [route]);
  useTitle();
  useNotifications();
  const { error } = useStore(session.threads.store);
  if (error instanceof ProblemError && error.status === 401)
    return <SignIn problem={error.message} onToken={(token) => (storeToken(token), location.reload())} />;
  return (
    <div className="shell" data-menu={isMenuOpen || undefined}>
      <a className="skip" href="#conversation" onClick={skipToConversation}>
        Skip to the conversation
      </a>
      <Sidebar onSignOut={onSignOut} />
      <button type="button" className="backdrop" aria-label="Close the menu" onClick={() => setMenuOpen(false)} />
      <Main
        menuButton={
          <IconButton
            icon="menu"
            label="Conversations"
            className="menu-button"
            aria-expanded={isMenuOpen}
            onClick={() => setMenuOpen(!isMenuOpen)}
          />
        }
      />
      <Notice />
      <Shortcuts />
    </div>
  );
}

function skipToConversation(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.getElementById('conversation')?.focus();
}

/** Shows the number of pending calls, or else the state of the conversation, in the title of the tab. */
function useTitle(): void {
  const { approvals, currentStage } = useSession();
  const count = useStore(approvals.store).value?.length ?? 0;
  const stage = useStore(currentStage);
  useEffect(() => {
    const state = stage === undefined || QUIET.has(stage) ? '' : `${STAGE_TEXTS[stage]} · `;
    document.title = count === 0 ? `${state}Toolscript` : `(${count}) waiting for you · Toolscript`;
  }, [count, stage]);
}

/** States that the title of the tab leaves out. */
const QUIET: ReadonlySet<RunStage> = new Set(['done', 'waiting', 'stopped']);

const NOTICE_MS = 4_000;

function Notice() {
  const { notice } = useSession();
  const text = useStore(notice);
  useEffect(() => {
    if (text === '') return undefined;
    const timer = setTimeout(() => notice.set(''), NOTICE_MS);
    return () => clearTimeout(timer);
  }, [text, notice]);
  return (
    <div className="notice" role="status" data-empty={text === '' || undefined}>
      {text}
    </div>
  );
}
