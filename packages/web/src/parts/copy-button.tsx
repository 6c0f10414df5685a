import { useState } from 'react';
import { IconButton } from './icon-button.tsx';
import type { IconName } from './icons.tsx';

interface CopyButtonProps {
  readonly text: string;
  readonly label: string;
  readonly icon?: IconName | undefined;
}

export function CopyButton({ text, label, icon = 'copy' }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text).catch(() => undefined);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <IconButton icon={isCopied ? 'check' : icon} label={isCopied ? 'Copied' : label} onClick={() => void copy()} />
  );
}
