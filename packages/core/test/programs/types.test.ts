import { beforeAll, describe, expect, it } from 'vitest';
import type { Harness } from '#core/index.js';
import { Conversation, modelText, openPrograms } from './conversation.js';

let harness: Harness;
beforeAll(() => (harness = openPrograms({ limits: { maxReturnBytes: 1_000 } })));

const start = () => new Conversation(harness);

describe('the types of a program', () => {
  it('of variables are those that TypeScript prints, and the model reads the new ones', async () => {
    const talk = start();
    const first = await talk.run(`type Row = { city: string; n: number };
const rows: Row[] = [{ city: 'Oslo', n: 1 }];
const byCity = new Map(rows.map((row) => [row.city, row]));
let total = 0;
const found = rows.find((row) => row.n === 1);
if (found === undefined) return 'none';
function report(city: string): string { return city + total }
class Sum { #n = 0; add(n: number) { return (this.#n += n) } }
enum Color { Red, Green }
const shade: Color = Color.Green;
const late: string[] = [];
const empty = [];
empty.push('a');`);
    expect(first.scope).toEqual([
      { name: 'rows', type: 'Row[]' },
      { name: 'byCity', type: 'Map<string, Row>' },
      { name: 'total', type: 'number' },
      { name: 'found', type: 'Row' },
      { name: 'report', type: '(city: string) => string' },
      { name: 'Sum', type: 'typeof Sum' },
      { name: 'Color', type: 'typeof Color' },
      { name: 'shade', type: 'Color.Green' },
      { name: 'late', type: 'string[]' },
      { name: 'empty', type: 'string[]' },
    ]);
    expect(modelText(first)).toContain(
      'In scope for your next script: rows: Row[], byCity: Map<string, Row>, total: number, found: Row, report(city: string): string, Sum, Color, ',
    );
    const second = await talk.run(`const row: Row = { city: 'Bergen', n: 2 }; rows.push(row);
const sum = new Sum(); return [report('a'), sum.add(3), Color[shade], found.city]`);
    expect(second.value).toEqual(['a0', 3, 'Green', 'Oslo']);
    expect(modelText(second)).toContain('In scope for your next script: row: Row, sum: Sum');
    expect(modelText(await talk.run(`return total`))).not.toContain('In scope');
  });

  it('are checked in later scripts, and an error has its place in the current script', async () => {
    const talk = start();
    await talk.run(
      `const users = [{ id: 1, username: 'Ann' }];\n\n\nconst byId = new Map(users.map((u) => [u.id, u]))`,
    );
    const wrong = await talk.run(`const one = users[0];\nreturn one.usernmae`);
    expect([wrong.error?.code, wrong.error?.line]).toEqual(['ScriptTypeError', 2]);
    expect(wrong.error?.message).toContain("Did you mean 'username'?");
    expect(await talk.value(`return users[0].username`)).toBe('Ann');
  });

  it('of arguments of tools follow from kept variables', async () => {
    const talk = start();
    await talk.run(`const text = 'a'; const n = 'b' as string`);
    const wrong = await talk.run(`await tools.math.double({ n })`);
    expect([wrong.error?.code, wrong.operations]).toEqual(['ScriptTypeError', []]);
  });

  it('never include a variable that was not initialised', async () => {
    const talk = start();
    const thrown = await talk.run(`const before = 1;\nthrow new Error('x');\nconst after = 2`);
    expect(thrown.scope).toEqual([{ name: 'before', type: 'number' }]);
    expect(await talk.value(`return after`)).toContain("Cannot find name 'after'");
  });

  it('of a variable are whole, even if its script narrowed them', async () => {
    const talk = start();
    await talk.run(`let name: string | undefined = 'a'; let list: number[] = []`);
    expect(talk.last?.scope).toEqual([
      { name: 'name', type: 'string | undefined' },
      { name: 'list', type: 'number[]' },
    ]);
    expect(await talk.value(`name = undefined; return typeof name`)).toBe('undefined');
  });

  it('may be declared again by a later script, and earlier variables keep theirs', async () => {
    const talk = start();
    await talk.run(`type Row = { a: number }; const first: Row = { a: 1 }`);
    await talk.run(`type Row = { b: string }; const second: Row = { b: 'x' }`);
    expect(await talk.value(`return first.a + second.b`)).toBe('1x');
    expect(await talk.value(`const third: Row = { b: 'y' }; return first.b`)).toContain("Property 'b' does not exist");
  });

  it('of a script that only declares a function do not make it run', async () => {
    const talk = start();
    const declared = await talk.run(`async function report(city: string) { return city }`);
    expect([declared.value, declared.scope]).toEqual([
      undefined,
      [{ name: 'report', type: '(city: string) => Promise<string>' }],
    ]);
  });
});

describe('a value that is too large to return', () => {
  it('is kept under a name with its type, and the model reads its beginning', async () => {
    const talk = start();
    const large = await talk.run(`return Array.from({ length: 500 }, (_, id) => ({ id, note: 'note ' + id }))`);
    expect(large).toMatchObject({
      status: 'completed',
      value: {
        kept: 'result1',
        bytes: expect.any(Number),
        preview: expect.stringContaining('[{"id":0,"note":"note 0"}'),
      },
      scope: [{ name: 'result1', type: '{ id: number; note: string; }[]' }],
    });
    expect(modelText(large)).toContain('In scope for your next script: result1: { id: number; note: string; }[]');
    expect(await talk.value(`return result1.filter(({ id }) => id > 497).map(({ note }) => note)`)).toEqual([
      'note 498',
      'note 499',
    ]);
    expect(await talk.value(`return result1[0].nota`)).toContain(
      "Property 'nota' does not exist on type '{ id: number; note: string; }'",
    );
  });
});
