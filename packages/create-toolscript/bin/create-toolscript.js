#!/usr/bin/env node
// `npm create toolscript [FOLDER] [-- --template NAME]`: copies a template into a new folder.
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const templatesFolder = fileURLToPath(new URL('../templates/', import.meta.url));
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** The commands after `npm install`, with a comment each. */
const TEMPLATES = {
  agent: { about: 'an agent in one file', next: ['npm start'] },
  express: { about: 'agents with a web page, in an Express app', next: ['npm start'] },
  next: { about: 'the AI SDK in the App Router of Next', next: ['npm run dev'] },
  'mcp-gateway': {
    about: 'MCP servers behind one tool, for Claude Code, Codex, Cursor and other clients',
    next: ['npm run check'],
  },
};
const NAMES = Object.keys(TEMPLATES);

class UsageError extends Error {}

const USAGE = `Usage: npm create toolscript [FOLDER] [-- --template NAME]

Templates:
${NAMES.map((name) => `  ${name.padEnd(12)} ${TEMPLATES[name].about}`).join('\n')}

Without FOLDER or --template, the command asks for them on a terminal. Without a terminal, the template is agent.`;

try {
  const { values, positionals } = readArguments();
  if (values.help) console.log(USAGE);
  else if (values.version) console.log(version);
  else await create(positionals, values.template);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

async function create(positionals, named) {
  if (positionals.length > 1)
    throw new UsageError(`Name one folder. These are ${positionals.length}: ${positionals.join(' ')}`);
  checkTemplate(named);
  const [folder = await ask('Folder', 'toolscript-project')] = positionals;
  const template = named ?? (await ask(`Template (${NAMES.join(', ')})`, 'agent'));
  checkTemplate(template);
  const target = resolve(folder);
  copyTemplate(template, target);
  const path = relative('', target) || '.';
  console.log(`Created ${target} from the template ${template}: ${TEMPLATES[template].about}.\n\nNext:`);
  for (const step of [
    `cd ${quoted(path.startsWith('..') ? target : path)}`,
    'npm install',
    ...TEMPLATES[template].next,
  ])
    console.log(`  ${step}`);
}

function readArguments() {
  const options = {
    template: { type: 'string', short: 't' },
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean' },
  };
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(`${error.message}\n\n${USAGE}`);
  }
}

function checkTemplate(name) {
  if (name !== undefined && !NAMES.includes(name))
    throw new UsageError(`There is no template ${JSON.stringify(name)}. The templates are: ${NAMES.join(', ')}.`);
}

async function ask(question, byDefault) {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return byDefault;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`${question} [${byDefault}]: `);
  terminal.close();
  return answer.trim() || byDefault;
}

/** Copies nothing into a folder that has files, because it could replace them. */
function copyTemplate(template, target) {
  if (openFolder(target).length > 0)
    throw new UsageError(`The folder ${target} is not empty. Name a new or empty folder.`);
  cpSync(join(templatesFolder, template), target, { recursive: true });
  // npm leaves files with the name .gitignore out of packages.
  renameSync(join(target, 'gitignore'), join(target, '.gitignore'));
  const path = join(target, 'package.json');
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replace('PROJECT_NAME', projectName(target)).replaceAll('TOOLSCRIPT_VERSION', version));
}

/** Makes the folder, and returns the names in it. */
function openFolder(target) {
  try {
    mkdirSync(target, { recursive: true });
    return readdirSync(target);
  } catch (error) {
    throw new UsageError(`The folder ${target} cannot be made: ${error.message}. Name another folder.`);
  }
}

/** A name that npm accepts. */
function projectName(target) {
  const name = basename(target)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/gu, '-')
    .replaceAll(/^-+|-+$/gu, '');
  return name || 'toolscript-project';
}

function quoted(path) {
  return /^[\w./-]+$/u.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
