import { useEffect, useRef } from 'react';
import { useSession } from './session.ts';
import { useStore } from './store.ts';

const KEY = 'toolscript-notifications';

export function wantsNotifications(): boolean {
  return localStorage.getItem(KEY) === 'on' && 'Notification' in window && Notification.permission === 'granted';
}

/** Asks the browser for permission if necessary. Returns whether notifications are on. */
export async function setNotifications(isOn: boolean): Promise<boolean> {
  localStorage.setItem(KEY, isOn ? 'on' : 'off');
  if (isOn && 'Notification' in window && Notification.permission !== 'granted') await Notification.requestPermission();
  return wantsNotifications();
}

function notify(title: string): void {
  try {
    const notification = new Notification(title, { tag: 'toolscript-approvals' });
    notification.addEventListener('click', () => window.focus());
  } catch {
    // Mobile browsers grant the permission but show no notifications from pages. The title of the tab still shows the
    // number of pending calls.
  }
}

/** Notifies the user of calls that become pending while the page is hidden. */
export function useNotifications(): void {
  const { approvals } = useSession();
  const pending = useStore(approvals.store).value;
  const known = useRef<ReadonlySet<string>>(undefined);
  useEffect(() => {
    if (pending === undefined) return;
    const fresh = pending.filter(({ approvalId }) => known.current?.has(approvalId) === false);
    known.current = new Set(pending.map(({ approvalId }) => approvalId));
    if (fresh.length === 0 || !document.hidden || !wantsNotifications()) return;
    const title = fresh.length === 1 ? `${fresh[0]!.tool} waits for you` : `${fresh.length} calls wait for you`;
    notify(title);
  }, [pending]);
}
