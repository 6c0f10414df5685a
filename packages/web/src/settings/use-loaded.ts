import { useEffect, useRef, useState } from 'react';

/** The response to a request. The request is sent again when `key` changes. */
export function useLoaded<Value>(
  load: () => Promise<Value>,
  key: string,
): { readonly value?: Value | undefined; readonly error?: unknown } {
  const [state, setState] = useState<{ value?: Value | undefined; error?: unknown }>({});
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    let isCurrent = true;
    latest.current().then(
      (value) => isCurrent && setState({ value }),
      (error: unknown) => isCurrent && setState({ error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return state;
}
