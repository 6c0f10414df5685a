import type { Library, MergedInterface } from './library.js';

/** Prints the declarations as one global file: one line for each interface, alias, value and namespace. */
export function printLibrary(library: Library): string {
  return libraryLines(library, 'declare ').join('\n') + '\n';
}

/**
 * Prints the lines of a library. `ambient` is the text before values and namespaces; inside a namespace it is empty.
 */
function libraryLines(library: Library, ambient: string): string[] {
  return [
    ...[...library.aliases.values()].map((text) => `${text};`),
    ...[...library.interfaces.values()].map(interfaceLine),
    ...library.values.map(({ text }) => `${ambient}${text};`),
    ...[...library.namespaces].map(
      ([name, inner]) => `${ambient}namespace ${name}{${libraryLines(inner, '').join('')}}`,
    ),
  ];
}

function interfaceLine({ name, parameters, bases, members }: MergedInterface): string {
  const inherits = bases.length === 0 ? '' : ` extends ${bases.join(',')}`;
  return `interface ${name}${parameters}${inherits}{${members.map(({ text }) => text).join(';')}}`;
}
