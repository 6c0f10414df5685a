import { describe, expect, it } from 'vitest';
import { createHarness, type Harness } from '#core/index.js';
import { CheckPool } from '#core/script/check/index.js';
import { defineTool, type DefinedTool } from '#core/tools/define-tool.js';
import { issueLines } from '#core/schema/validation-issues.js';
import { cases, someCases, tries } from '@toolscript/testkit/some-cases';
import { MCP_LIKE } from './mcp-like-schemas.js';
import { hasPublicTools, publicTools, type PublicToolFile } from './public-tools.js';
import { Instances, oracle, randomOf, spoiled, type Random, type Schema } from './schema-instances.js';

/** The number of tools of one harness: as many as an agent has. */
const TOGETHER = 40;
/** One public tool in this number is tested. */
const STEP = 12;
/** The number of arguments for each public tool. */
const ROUNDS = Number(process.env['TOOLSCRIPT_SCHEMA_ROUNDS'] ?? 1);
/** The number of arguments for each tool of Toolscript. */
const LIKE_ROUNDS = tries(20, 4);

interface Case {
  readonly name: string;
  readonly schema: Schema;
  readonly tool: DefinedTool;
  readonly accepts: (value: unknown) => boolean;
}

function caseOf(schema: Schema, index: number, read: (schema: Schema) => Schema): Case {
  const name = `tool${index}`;
  const tool = defineTool({ name, description: '', approval: 'never', inputSchema: read(schema), execute: () => null });
  return { name, schema, tool, accepts: oracle(schema) };
}

function validInstance({ schema, accepts }: Case, random: Random): unknown {
  const instances = new Instances(schema, random);
  for (let attempt = 0; attempt < 20; attempt++) {
    const value = instances.of();
    if (accepts(value)) return value;
  }
  return undefined;
}

const IN_TYPES = new Set(['kind', 'missing', 'key']);

const text = (value: unknown): string => JSON.stringify(value).replaceAll('\u2028', '\\u2028');

/**
 * The forms in which models pass arguments to a tool. The names of the variables differ, so each form is judged by
 * itself.
 */
const FORMS: Readonly<Record<string, (name: string, value: unknown) => string>> = {
  'written out': (name, value) => `await tools.${name}(${text(value)});`,
  'in a constant': (name, value) => `const one = ${text(value)}; await tools.${name}(one);`,
  'in a variable that changes': (name, value) =>
    `let two = ${text(value)}; if (Math.random() > 2) two = ${text(value)}; await tools.${name}(two);`,
  'member by member': (name, value) => {
    const members = Object.entries(value as object);
    const variables = members.map(([, member], index) => `let m${index} = ${text(member)}; m${index} = m${index};`);
    const names = members.map(([key], index) => `${JSON.stringify(key)}: m${index}`);
    return `${variables.join(' ')} await tools.${name}({ ${names.join(', ')} });`;
  },
  'through a list': (name, value) => `for (const three of [${text(value)}]) await tools.${name}(three);`,
};
const ALL_FORMS = (name: string, value: unknown) =>
  Object.values(FORMS)
    .map((write) => `{ ${write(name, value)} }`)
    .join('\n');

interface Group {
  readonly cases: readonly Case[];
  readonly harness: Harness;
  readonly declared: { readonly name: string; readonly declarations: string };
}

/** Passes arguments to ajv, the validation, the checker and the bare declarations, and records their differences. */
class Agreement {
  readonly disagreements: string[] = [];
  readonly warnings: string[] = [];
  valid = 0;
  invalid = 0;
  readonly #groups: Group[] = [];
  readonly #pool = new CheckPool({ size: 1, deadlineMs: 2_000 });
  readonly #random: Random;

  /** `read`: the schemas as the tools read them. */
  constructor(schemas: readonly Schema[], seed: number, read: (schema: Schema) => Schema = (schema) => schema) {
    this.#random = randomOf(seed);
    for (let start = 0; start < schemas.length; start += TOGETHER) {
      const cases = schemas.slice(start, start + TOGETHER).map((schema, index) => caseOf(schema, index, read));
      const harness = createHarness({ tools: cases.map(({ tool }) => tool), approvals: 'auto', mode: 'dry-run' });
      this.#groups.push({ cases, harness, declared: { name: `group${start}`, declarations: harness.declarations() } });
    }
  }

  async close(): Promise<void> {
    this.#pool.close();
    await Promise.all(this.#groups.map(({ harness }) => harness.close()));
  }

  async hold(rounds: number): Promise<void> {
    for (const group of this.#groups) {
      for (const one of group.cases) {
        for (let round = 0; round < rounds; round++) await this.#holdOne(group, one);
      }
    }
  }

  async #holdOne(group: Group, one: Case): Promise<void> {
    const value = validInstance(one, this.#random);
    if (value === undefined) return;
    await this.#holdValid(group, one, value);
    // The validator does not run a pattern that could take too long, and the tool reports that.
    if (one.tool.notes.some((note) => note.includes('is not checked'))) return;
    const broken = spoiled(value, this.#random);
    if (broken === undefined || one.accepts(broken.value)) return;
    await this.#holdInvalid(group, one, broken);
  }

  async #holdValid(group: Group, { name, tool }: Case, value: unknown): Promise<void> {
    this.valid += 1;
    const differs = (who: string, why: unknown) =>
      this.disagreements.push(`${who} refuses ${name} ${text(value)}: ${why}`);
    const verdict = tool.validateInput(value);
    if (!verdict.ok) differs('validation', issueLines(verdict.issues));
    const [declared] = await this.#declared(group, FORMS['written out']!(name, value));
    if (declared !== undefined) differs('the declaration', declared);
    const { status, diagnostics } = await group.harness.runScript(ALL_FORMS(name, value));
    if (status === 'failed') differs('the checker', diagnostics[0]?.message);
    else if (diagnostics.length > 0) this.warnings.push(`${name} ${text(value)}: ${diagnostics[0]?.message}`);
  }

  async #holdInvalid(
    group: Group,
    { name, tool }: Case,
    { value, kind }: { value: unknown; kind: string },
  ): Promise<void> {
    this.invalid += 1;
    const differs = (who: string) => this.disagreements.push(`${who} takes ${name} ${text(value)} (${kind})`);
    if (tool.validateInput(value).ok) differs('validation');
    for (const form of ['written out', 'in a constant']) {
      const { status } = await group.harness.runScript(FORMS[form]!(name, value));
      if (status !== 'failed') differs(`the checker, ${form},`);
    }
    // Types cannot express ranges, lengths and patterns.
    if (IN_TYPES.has(kind) && (await this.#declared(group, FORMS['written out']!(name, value))).length === 0)
      differs('the declaration');
  }

  /** TypeScript's diagnostics of a script with the declarations, without the policy. */
  async #declared({ declared }: Group, source: string): Promise<string[]> {
    const answer = await this.#pool.check(declared, `export {};async function __script(){\n${source}\n}\n`, {
      principal: undefined,
      waitMs: 60_000,
    });
    return answer.type === 'checked' ? answer.diagnostics.map(({ text: said }) => said) : [answer.type];
  }
}

function publicSchemas(file: PublicToolFile): Schema[] {
  return publicTools(file)
    .map(({ inputSchema }) => inputSchema as Schema)
    .filter(isUsable);
}

function isUsable(inputSchema: Schema): boolean {
  try {
    return defineTool({ name: 'probe', description: '', inputSchema, execute: () => null }) !== undefined;
  } catch {
    return false;
  }
}

async function agreementOf(schemas: readonly Schema[], rounds: number): Promise<Agreement> {
  const agreement = new Agreement(schemas, 7);
  try {
    await agreement.hold(rounds);
  } finally {
    await agreement.close();
  }
  return agreement;
}

describe('declaration, checker, validation and ajv', () => {
  it('agree on arguments of tools like those of MCP servers', async () => {
    const { disagreements, warnings, valid, invalid } = await agreementOf(MCP_LIKE, LIKE_ROUNDS);
    expect(valid).toBeGreaterThan(MCP_LIKE.length * LIKE_ROUNDS * 0.75);
    expect(invalid).toBeGreaterThan(MCP_LIKE.length * LIKE_ROUNDS * 0.25);
    expect(disagreements).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('are distinguished if they differ', async () => {
    const schema = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] };
    const differing = new Agreement([schema], 7, () => ({ ...schema, properties: { at: { type: 'number' } } }));
    await differing.hold(20);
    await differing.close();
    const said = differing.disagreements.join('\n');
    for (const who of ['validation', 'the declaration', 'the checker']) {
      expect(said).toContain(`${who} refuses`);
      expect(said).toMatch(new RegExp(`${who}(?:, written out,)? takes`, 'u'));
    }
  });

  it.skipIf(!hasPublicTools).each(['mcp.json', 'functions.json'] as const)(
    `agree on arguments of ${cases(STEP, 'public tool')}: %s`,
    async (file) => {
      const all = publicSchemas(file);
      expect(all.length).toBeGreaterThan(400);
      const schemas = someCases(all, STEP);
      const { disagreements, warnings, valid, invalid } = await agreementOf(schemas, ROUNDS);
      expect(valid).toBeGreaterThan(schemas.length * ROUNDS * 0.95);
      expect(invalid).toBeGreaterThan(schemas.length * ROUNDS * 0.3);
      expect(disagreements).toEqual([]);
      expect(warnings).toEqual([]);
    },
  );
});
