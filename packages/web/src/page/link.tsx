import type { ComponentProps } from 'react';
import type { Route } from '../state/route.ts';
import { useSession } from '../state/session.ts';

interface LinkProps extends Omit<ComponentProps<'a'>, 'href' | 'onClick'> {
  readonly to: Route;
}

/** A link to another view of the page. */
export function Link({ to, ...rest }: LinkProps) {
  const { router } = useSession();
  return (
    <a
      href={router.address(to)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        router.go(to);
      }}
      {...rest}
    />
  );
}
