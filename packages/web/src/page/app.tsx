import { useEffect, useState } from 'react';
import { obtainToken, removeToken, storeToken } from '../state/token.ts';
import { openSession, SessionContext, useSession, type Session } from '../state/session.ts';
import { followChanges } from '../state/live-lists.ts';
import { useNotifications } from '../state/notifications.ts';
import { useStore } from '../state/store.ts';
import { ProblemError } from '@toolscript/client';
import { Sidebar } from './sidebar.tsx';
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
  const signOut = () => {
    removeToken();
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
    </div>
  );
}

function skipToConversation(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.getElementById('conversation')?.focus();
}

/** Shows the number of pending calls in the title of the tab. */
function useTitle(): void {
  const { approvals } = useSession();
  const count = useStore(approvals.store).value?.length ?? 0;
  useEffect(() => {
    document.title = count === 0 ? 'Toolscript' : `(${count}) waiting for you · Toolscript`;
  }, [count]);
}

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
