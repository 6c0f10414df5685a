import { useEffect, useState } from 'react';

/** The time in ms since 1970, updated every `intervalMs` while `isActive`. */
export function useNow(intervalMs: number, isActive = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isActive) return undefined;
    const timer = setInterval(() => setNow(Date.now()), intervalMs);
    return () => clearInterval(timer);
  }, [intervalMs, isActive]);
  return now;
}
