import { lazy, Suspense, type ReactNode } from 'react';
import { useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';
import { Conversation } from './conversation.tsx';
import { Welcome } from './welcome.tsx';

const SettingsPage = lazy(() => import('../settings/settings-page.tsx'));

/** The view that the address names. */
export function Main({ menuButton }: { readonly menuButton: ReactNode }) {
  const { router } = useSession();
  const route = useStore(router.store);
  if (route.page === 'thread')
    return <Conversation key={route.threadId} threadId={route.threadId} menuButton={menuButton} />;
  if (route.page === 'settings')
    return (
      <Suspense fallback={<main className="main" />}>
        <SettingsPage section={route.section} menuButton={menuButton} />
      </Suspense>
    );
  return <Welcome menuButton={menuButton} />;
}
