/** The address of a link in untrusted text, or an empty string if a page must not open it. */
export function safeUrl(address: string): string {
  try {
    const url = new URL(address);
    // defence: safe-links
    return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : '';
  } catch {
    return '';
  }
}
