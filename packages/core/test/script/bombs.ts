/** Small sources that could cost a parser or a transpiler gigabytes or minutes. */

const SIZE = 20_000;

function fill(write: (index: number) => string, size = SIZE): string {
  let text = '';
  for (let index = 0; ; index++) {
    const next = write(index);
    if (text.length + next.length > size) return text;
    text += next;
  }
}

function times(count: number, write: (index: number, before: string) => string): string {
  return Array.from({ length: count }, (_, index) => write(index, index === 0 ? 'a' : `b${index - 1}`)).join('');
}

const LONG = 'N'.repeat(SIZE / 2);
const half = (write: (index: number) => string): string => fill(write, SIZE / 2);

/** 256 characters, doubled 19 times: 128 MB. */
const SEED = `a='${'x'.repeat(256)}'`;
const DOUBLINGS = 19;

/** Texts that the scan or the growth limit rejects before native code works on them. */
export const REFUSED_BOMBS: Readonly<Record<string, string>> = {
  'an enum that doubles a text': `enum E {${SEED},${times(DOUBLINGS, (index, before) => `b${index}=${before}+${before},`)}}`,
  'a constant enum that doubles a text': `const enum E {${SEED},${times(DOUBLINGS, (index, before) => `b${index}=E.${before}+E['${before}'],`)}}`,
  'an enum that doubles a template':
    `enum E {${SEED},` + times(DOUBLINGS, (index, before) => `b${index}=\`\${${before}}\${${before}}\`,`) + '}',
  'enums that double each other’s members': `enum A {${SEED}}${times(DOUBLINGS, (index) => {
    const before = index === 0 ? 'A' : `B${index - 1}`;
    return `enum B${index}{a=${before}.a+${before}.a}`;
  })}`,
  'one enum in many parts': `enum E {${SEED}}${times(DOUBLINGS, (index, before) => `enum E{b${index}=${before}+(${before})}`)}`,
  'an enum that copies a long text': `enum E {a='${'x'.repeat(SIZE / 2)}',\n${half((index) => `b${index}=a,\n`)}}`,
  'an enum that adds to a long text': `enum E {a='${'x'.repeat(SIZE / 2)}',\nb=a\n${half(() => `+''\n`)}}`,
  'an enum with a long name': `enum ${LONG}{\n${half((index) => `m${index},\n`)}}`,
  'a namespace with a long name': `namespace ${LONG}{\n${half((index) => `export const m${index}=1;\n`)}}`,
  'wrong escapes in texts': fill(() => '"\\01";'),
  'wrong escapes in one text': `"${fill(() => '\\01')}"`,
  'wrong escapes in templates': fill(() => '`\\01`;'),
  'wrong powers': fill(() => '-1**2;'),
  'wrong words': fill(() => 'super;'),
  'wrong labels': fill(() => 'a:a:;'),
  'wrong names': fill(() => 'let a;'),
  'wrong private names': fill(() => 'a.#a;'),
  decorators: `class A{${fill(() => '@a m(){}')}}`,
  'character properties': `x=/[${fill(() => '\\p{RGI_Emoji}')}]/v`,
  'character properties in many patterns': fill(() => '/\\p{Emoji_Keycap_Sequence}/v;\n'),
  'names in many blocks': `${'{'.repeat(220)}${fill((index) => `var a${index};\n`)}${'}'.repeat(220)}`,
  'names of one statement in many blocks': `${'{'.repeat(220)}var ${fill((index) => `a${index},\n`)}b;${'}'.repeat(220)}`,
};

const lines = (text: string): string => fill(() => text, 60_000);

/** Texts that are compiled, in a time that grows with their length. */
export const LONG_SOURCES: Readonly<Record<string, string>> = {
  'optional chains': `a${lines('\n?.b')}`,
  'optional chains with non-null marks': `a${lines('\n?.b!')}`,
  'optional elements': `a${lines('\n?.[0]')}`,
  'non-null marks': `a${lines('!\n.b')}`,
  'member chains': `a${lines('\n.b')}`,
  'calls of members': `a${lines('\n.b()')}`,
  'assigned members': `a${lines('\n.b')}=1`,
};
