interface Branch {
  [name: string]: string | Branch;
}

const texts = new WeakMap<readonly string[], string>();

/** Tool names as the guest reads them: JSON text of namespaces and full names. Cached per list of names. */
export function toolTree(names: readonly string[]): string {
  let text = texts.get(names);
  if (text === undefined) {
    text = JSON.stringify(grow(names));
    texts.set(names, text);
  }
  return text;
}

function grow(names: readonly string[]): Branch {
  const root = Object.create(null) as Branch;
  for (const name of names) {
    const parts = name.split('.');
    const last = parts.pop()!;
    let at = root;
    for (const part of parts) {
      const next = at[part];
      at = typeof next === 'object' ? next : (at[part] = Object.create(null) as Branch);
    }
    at[last] = name;
  }
  return root;
}
