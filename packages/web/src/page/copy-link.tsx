import { CopyButton } from '../parts/copy-button.tsx';
import { useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';

interface CopyLinkProps {
  readonly runId: string | undefined;
  readonly callId?: string | undefined;
}

/** Copies the address of a turn, or of a call in it. */
export function CopyLink({ runId, callId }: CopyLinkProps) {
  const { router } = useSession();
  const route = useStore(router.store);
  if (route.page !== 'thread' || runId === undefined) return null;
  const path = router.address({ ...route, target: { runId, callId } });
  const label = callId === undefined ? 'Copy a link to this turn' : 'Copy a link to this call';
  return <CopyButton icon="link" text={location.origin + path} label={label} />;
}
