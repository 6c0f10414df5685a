import { useState } from 'react';
import type { ThreadFile } from '@toolscript/client';
import { useLoaded } from '../settings/use-loaded.ts';
import { useSession } from '../state/session.ts';
import { useStore } from '../state/store.ts';

/** The maximum number of listed files. A thread has at most twice as many. */
const MOST = 500;

export interface FilesState {
  readonly files: readonly ThreadFile[];
  readonly hasMore: boolean;
  readonly reload: () => void;
}

/** The files of a conversation, read again after each change of the conversation. */
export function useFiles(threadId: string): FilesState {
  const { client, threads } = useSession();
  const [version, setVersion] = useState(0);
  const updatedAt = useStore(threads.store).value?.threads.find((listed) => listed.threadId === threadId)?.updatedAt;
  const { value } = useLoaded(
    () => client.files.list(threadId, { limit: MOST }),
    `${threadId} ${updatedAt} ${version}`,
  );
  return {
    files: value?.data ?? [],
    hasMore: value?.next !== undefined,
    reload: () => setVersion((before) => before + 1),
  };
}
