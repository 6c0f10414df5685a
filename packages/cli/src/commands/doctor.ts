import { loadSettings, type Settings } from '../configuration/settings.js';
import { checkExecSandbox, checkMachine, type Check } from '../doctor/checks.js';
import { checkServers } from '../doctor/mcp-servers.js';
import { checkModels } from '../doctor/models.js';
import { maskSecrets } from '../doctor/secrets.js';
import { EXIT } from '../exit-status.js';
import { openScreen, type Screen, type Style } from '../terminal/screen.js';
import { jsonText, visible, visibleLine } from '../terminal/untrusted.js';
import { isUsageError } from '../usage-error.js';

/** Checks this machine. Returns the exit status 0 if every required part works. */
export async function examine(flags: { json?: boolean | undefined; cwd?: string | undefined }): Promise<number> {
  const screen = openScreen();
  const { check, settings } = await checkConfiguration(flags);
  const [machine, sandbox, servers] = await Promise.all([
    checkMachine(process.env),
    checkExecSandbox(settings?.exec),
    settings === undefined ? [] : checkServers(settings, process.env),
  ]);
  const checks = [...machine, sandbox, ...servers, ...check];
  const isWell = checks.every(({ status }) => status !== 'missing');
  const configuration = settings === undefined ? null : maskSecrets(shownSettings(settings));
  if (flags.json === true) screen.write(`${jsonText({ ok: isWell, checks, configuration }, 2)}\n`);
  else report(screen, checks, configuration, isWell);
  return isWell ? EXIT.completed : EXIT.failed;
}

/** Omits `named`, which is not a setting. */
function shownSettings({ named: _named, ...settings }: Settings): object {
  return settings;
}

async function checkConfiguration({
  cwd,
}: {
  cwd?: string | undefined;
}): Promise<{ check: Check[]; settings?: Settings | undefined }> {
  const notes: string[] = [];
  try {
    const settings = await loadSettings(cwd === undefined ? {} : { cwd }, process.env, (message) =>
      notes.push(message),
    );
    const from = settings.sources.join(', ');
    const models = await checkModels(process.env, settings.cwd, (message) => notes.push(message));
    return {
      settings,
      check: [
        ...models,
        { name: 'configuration', status: 'ok', detail: `from ${from}` },
        ...notes.map((detail): Check => ({ name: 'configuration', status: 'warning', detail })),
      ],
    };
  } catch (error) {
    if (!isUsageError(error)) throw error;
    return {
      check: [
        {
          name: 'configuration',
          status: 'missing',
          detail: error.message,
          fix: 'Correct the setting that the message names.',
        },
      ],
    };
  }
}

function report(screen: Screen, checks: readonly Check[], configuration: unknown, isWell: boolean): void {
  const { style } = screen;
  const marks = { ok: style.green('✓'), warning: style.yellow('!'), missing: style.red('✗') };
  const widest = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, status, detail, fix } of checks) {
    screen.line(`${marks[status]} ${visibleLine(name).padEnd(widest)}  ${visibleLine(detail)}`);
    if (fix !== undefined) screen.line(`  ${' '.repeat(widest)}  ${style.dim(`→ ${visibleLine(fix)}`)}`);
  }
  if (configuration !== null)
    screen.line(`\nEffective configuration:\n${visible(JSON.stringify(configuration, undefined, 2))}`);
  screen.line(`\n${verdict(checks, isWell, style)}`);
}

function verdict(checks: readonly Check[], isWell: boolean, style: Style): string {
  if (!isWell) return style.red('A required part does not work; see ✗ above.');
  const limited = new Set(checks.filter(({ status }) => status === 'warning').map(({ name }) => visibleLine(name)));
  if (limited.size === 0) return style.green('Every required part works.');
  return style.yellow(
    `Every required part works, but some other parts do not: ${[...limited].join(', ')}. See ! above.`,
  );
}
