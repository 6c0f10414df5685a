import * as fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { ToolscriptUsageError } from '#core/protocol/errors.js';
import { defineTool } from '#core/tools/define-tool.js';
import type { Tool } from '../../src/protocol/tools.js';
import { openHarness, valueOf } from '../harness/open-harness.js';
import { tries } from '@toolscript/testkit/some-cases';
import { mcpTools, type Server } from './mcp-tools.js';

const instructionsOf = (tools: readonly Tool[], tokenBudget: number, carrier: 'tool' | 'text' = 'tool') =>
  openHarness({ tools: [...tools], expose: { mcp: true } }).instructions({ tokenBudget, carrier });

/** The declarations in a prompt; they must be TypeScript. */
function catalogIn(text: string): string {
  const [, catalog = ''] = /```ts\n(.*?)```/su.exec(text) ?? [];
  expect(parseSync('tools.d.ts', catalog, { lang: 'dts' }).errors).toEqual([]);
  return catalog;
}

/** The pair `[shown, total]` that the prompt reports. */
function saidIn(text: string): number[] {
  return (/(\d+) of (\d+) tools shown/u.exec(text) ?? []).slice(1).map(Number);
}

const LANGUAGES = {
  English: 'Creates a new issue in the repository and returns its number. The title must be short.',
  German:
    'Erstellt ein neues Ticket im angegebenen Projekt und gibt dessen Nummer zurück. Größere Anhänge werden abgelehnt.',
  French: 'Crée un nouveau ticket dans le projet indiqué et renvoie son numéro. Le titre doit être court.',
  Polish: 'Tworzy nowe zgłoszenie w podanym projekcie i zwraca jego numer. Tytuł musi być krótki.',
  Turkish: 'Belirtilen projede yeni bir kayıt oluşturur ve numarasını döndürür. Başlık kısa olmalı.',
  Vietnamese: 'Tạo một vấn đề mới trong kho lưu trữ và trả về số của nó. Tiêu đề phải ngắn gọn.',
  Russian: 'Создаёт новую задачу в указанном проекте и возвращает её номер. Заголовок должен быть коротким.',
  Greek: 'Δημιουργεί ένα νέο ζήτημα στο αποθετήριο και επιστρέφει τον αριθμό του.',
  Arabic: 'ينشئ مهمة جديدة في المشروع المحدد ويعيد رقمها. يجب أن يكون العنوان قصيرا.',
  Hebrew: 'יוצר משימה חדשה בפרויקט הנתון ומחזיר את המספר שלה. הכותרת חייבת להיות קצרה.',
  Hindi: 'दिए गए प्रोजेक्ट में एक नया मुद्दा बनाता है और उसकी संख्या लौटाता है।',
  Thai: 'สร้างปัญหาใหม่ในโครงการที่ระบุและส่งคืนหมายเลขของปัญหานั้น',
  Chinese: '在指定的项目中创建一个新问题并返回其编号。标题必须简短,描述可以包含图片。',
  Japanese: '指定されたプロジェクトに新しい課題を作成し、その番号を返します。',
  Korean: '지정한 프로젝트에 새 이슈를 만들고 그 번호를 반환합니다.',
  Amharic: 'በተጠቀሰው ፕሮጀክት ውስጥ አዲስ ጉዳይ ይፈጥራል እና ቁጥሩን ይመልሳል።',
  signs: '🚀 Deploys 📦 the build ✅ → 0x1F!! {a|b} ($5.00) [x]; ~%^&* 12345678901234567890 3f2a9c1e-77aa-4b1c-9d2e',
  random: 'qzxk vwpj Xhgt-BNMQ zzkqv fjwxq_plkm tGHyqW qpwoeiruty',
} as const;

describe('the tools in the instructions', () => {
  it('of 1000 tools from 30 servers are within the budget, use most of it, and mention every server', () => {
    const tools = mcpTools(servers(30, 1_000));
    expect(tools).toHaveLength(1_000);
    for (const tokenBudget of [1_000, 1_500, 3_000, 8_000, 20_000]) {
      const text = instructionsOf(tools, tokenBudget);
      expect(countTokens(text)).toBeLessThanOrEqual(tokenBudget);
      expect(countTokens(text)).toBeGreaterThanOrEqual(tokenBudget * 0.8);
      const [shown = 0, total] = saidIn(text);
      expect(total).toBe(1_000);
      expect(shown).toBeLessThan(1_000);
      expect(catalogIn(text).match(/server\d+:/gu)).toHaveLength(30);
    }
  });

  it('never take more tokens than the budget, by a real tokenizer, whatever the tools, languages and budget', () => {
    const server = fc.record({
      description: fc.constantFrom(...Object.values(LANGUAGES)),
      tools: fc.integer({ min: 1, max: 30 }),
      words: fc.constantFrom(
        ['list', 'issue'],
        ['sendMail', 'toPerson'],
        ['xqzt', 'WVKJ'],
        ['a1b2', 'c3d4'],
        ['get-all', 'http_items'],
      ),
    });
    const budget = fc.integer({ min: 60, max: 6_000 });
    fc.assert(
      fc.property(
        fc.array(server, { maxLength: 8 }),
        budget,
        fc.constantFrom('tool', 'text'),
        (list, tokenBudget, carrier) => {
          const named = list.map((one, index) => ({ name: `s${index}`, ...one }));
          const text = instructionsOf(mcpTools(named), tokenBudget, carrier);
          expect(countTokens(text)).toBeLessThanOrEqual(tokenBudget);
          catalogIn(text);
        },
      ),
      { numRuns: tries(150) },
    );
  });

  it.each(Object.entries(LANGUAGES))('use most of the budget if there is more to show: %s', (language, description) => {
    const tools = mcpTools([{ name: 'one', tools: 400, description, words: ['list', 'issue'] }]);
    const text = instructionsOf(tools, 4_000);
    const used = countTokens(text) / 4_000;
    expect(used).toBeLessThanOrEqual(1);
    expect(used).toBeGreaterThanOrEqual(language === 'English' ? 0.82 : 0.6);
    expect(saidIn(text)[0]).toBeLessThan(400);
  });

  it('share by namespace: 300 tools of one server do not push out 3 of another', () => {
    const tools = mcpTools([
      { name: 'large', tools: 300 },
      { name: 'small', tools: 3 },
    ]);
    const catalog = catalogIn(instructionsOf(tools, 3_000));
    const small = /\n {4}small: \{\n(.*?)\n {4}\};/su.exec(catalog)?.[1] ?? '';
    expect(small.match(/^ {6}\w+\(args/gmu)).toHaveLength(3);
    expect(small).toContain('/** ');
    expect(catalog).toMatch(/ {6}\/\/ … \d+ more\n/u);
  });

  it('show the tools without a namespace in full, however many servers there are', () => {
    const own = ['read', 'write', 'search'].map((name) =>
      defineTool({
        name,
        description: `Does ${name}. ${LANGUAGES.English}`,
        inputSchema: { type: 'object', properties: { path: { type: 'string', description: 'A path' } } },
        execute: () => null,
      }),
    );
    const catalog = catalogIn(instructionsOf([...mcpTools(servers(30, 1_000)), ...own], 1_500));
    expect(catalog.match(/^ {2}\/\*\* [^]*?^ {2}\w+\(/gmu)).toHaveLength(own.length);
    expect(catalog.match(/server\d+:/gu)).toHaveLength(30);
  });

  it('show no more of the tools without a namespace than half, while others need the room', () => {
    const own = Array.from({ length: 300 }, (_, index) =>
      defineTool({ name: `own${index}`, description: LANGUAGES.English, inputSchema: {}, execute: () => null }),
    );
    const catalog = catalogIn(instructionsOf([...own, ...mcpTools([{ name: 'small', tools: 3 }])], 3_000));
    expect(catalog.match(/^ {6}\w+\(args/gmu)).toHaveLength(3);
  });

  it('lose detail tool by tool, and mention the omitted tools', () => {
    const tools = mcpTools([{ name: 'one', tools: 40 }]);
    const full = instructionsOf(tools, 100_000);
    expect(saidIn(full)).toEqual([]);
    expect(full.match(/^ {6}\w+\(args/gmu)).toHaveLength(40);
    const all = countTokens(full);
    const partly = instructionsOf(tools, Math.round(all * 0.6));
    const kinds = ['\n      /\\*\\*', '\n      \\w+\\(args', '\n      // \\w+:'].map(
      (kind) => partly.match(new RegExp(kind, 'gu'))?.length ?? 0,
    );
    expect(kinds.filter((count) => count > 0).length).toBeGreaterThan(1);
    const little = instructionsOf(tools, 900);
    const [shown = 0, total] = saidIn(little);
    expect(total).toBe(40);
    expect(little.match(/^ {6}(?:\/\/ \w+:|\w+\(args)/gmu)).toHaveLength(shown);
    expect(little).toContain(`// … ${40 - shown} more`);
    expect(little).toContain('catalog.search');
  });

  it('show a tool that is too large in short form, and continue with the others', () => {
    const huge = Object.fromEntries(
      Array.from({ length: 300 }, (_, index) => [`member${index}`, { type: 'string', description: LANGUAGES.English }]),
    );
    const first = defineTool({
      name: 'huge',
      description: 'Huge.',
      inputSchema: { type: 'object', properties: huge },
      execute: () => null,
    });
    const others = ['one', 'two', 'three'].map((name) =>
      defineTool({
        name,
        description: `Does ${name}.`,
        inputSchema: { type: 'object', properties: { id: { type: 'string', description: 'which one' } } },
        execute: () => null,
      }),
    );
    const text = instructionsOf([first, ...others], 1_500);
    expect(text).toContain('  // huge: Huge.\n');
    expect(text.match(/\/\/ which one/gu)).toHaveLength(3);
    expect(text).toContain('4 of 4 tools shown, 1 of them by name only');
  });

  it('are the same bytes in every turn, and in every harness with the same tools', async () => {
    const list = servers(6, 60);
    const harness = openHarness({ tools: mcpTools(list), expose: { mcp: true }, approvals: 'auto' });
    const before = harness.instructions();
    harness.instructions({ tokenBudget: 900 });
    valueOf(
      await harness.runScript(`await tools.mcp.server0.list_issue({ id: 'x' }); return await catalog.search('issue');`),
    );
    expect(harness.instructions()).toBe(before);
    expect(openHarness({ tools: mcpTools(list), expose: { mcp: true } }).instructions()).toBe(before);
  });

  it('get shorter rules in a small budget, and are rejected if nothing fits', () => {
    const tools = mcpTools(servers(3, 30));
    expect(instructionsOf(tools, 3_000)).toContain('After a failure');
    expect(instructionsOf(tools, 300)).not.toContain('After a failure');
    expect(instructionsOf(tools, 300)).toMatch(/tools shown|catalog\.search/u);
    for (const tokenBudget of [0, 5, -1, Number.NaN])
      expect(() => instructionsOf(tools, tokenBudget)).toThrow(ToolscriptUsageError);
  });

  it('state that there are no tools', () => {
    expect(catalogIn(instructionsOf([], 3_000))).toBe('interface Tools {}\n');
  });
});

/** This number of servers with this number of tools in total. The first has 300 tools, the second 3. */
function servers(count: number, total: number): Server[] {
  const first = Math.min(300, Math.floor(total / 3));
  const sizes = Array.from({ length: count }, (_, index) => (index === 0 ? first : index === 1 ? 3 : 0));
  for (let left = total - first - 3, at = 0; left > 0; left--, at++) sizes[2 + (at % (count - 2))]! += 1;
  return sizes.map((tools, index) => ({ name: `server${index}`, tools }));
}
