import type { ReactNode } from 'react';

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body style={{ fontFamily: 'system-ui', maxWidth: '40rem', margin: '2rem auto' }}>{children}</body>
    </html>
  );
}
