// `npm run test:clients [-- --short] [-- --only NAME]`: the MCP clients that people use, each from npm at a pinned
// version, with `toolscript mcp` as their server and a model on loopback. Every text that the model reads is checked.
// It needs the npm registry, once for each version, and takes some minutes. `--short` leaves out what takes more than a
// minute. `--keep`: keeps the requests that each model got, in a folder whose name is printed.
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTurn } from './clients/app-server.mjs';
import { CLIENTS } from './clients/clients.mjs';
import { installed } from './clients/installed.mjs';
import { gatewayOffer } from './clients/offer.mjs';
import { MockModel } from './clients/mock-model.mjs';
import { Place } from './clients/place.mjs';
import { STEPS } from './clients/scenario.mjs';
import { prepare } from './prepare.mjs';

const isShort = process.argv.includes('--short');
const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : '';
const failures = [];

prepare();
for (const client of CLIENTS.filter(({ name }) => name.includes(only))) {
  const folder = installation(client);
  if (folder !== undefined) await tryClient(client, folder);
  if (folder !== undefined && client.editorServer !== undefined)
    await row(client, "an approval in an editor's form", () => approveInEditor(client, folder));
}
if (failures.length > 0) {
  console.error(`\n${failures.join('\n\n')}`);
  process.exit(1);
}

function installation(client) {
  try {
    return installed(client.package);
  } catch (error) {
    console.log(`skipped ${client.name}: ${error.message}`);
    return undefined;
  }
}

async function tryClient(client, folder) {
  const place = new Place();
  const model = new MockModel(client.dialect);
  try {
    const url = await model.listen();
    Object.assign(place.variables, client.variables(url, place));
    const [command, ...first] = client.program(folder);
    const run = (args) => place.start(command, [...first, ...args]);
    await place.run('toolscript', ['mcp', 'test']);
    await row(client, 'reads what install wrote', () => checkInstall(client, place, run));
    client.configure?.(place, url);
    await converse(client, { place, model, run });
  } finally {
    model.close();
    keep(client, model);
    place.remove();
  }
}

/** One call that the user of an editor approves. Returns what the form says. */
async function approveInEditor(client, folder) {
  const place = new Place();
  const model = new MockModel(client.dialect);
  const [command, ...first] = client.program(folder);
  const url = await model.listen();
  Object.assign(place.variables, client.variables(url, place));
  await place.run('toolscript', ['mcp', 'test']);
  await place.run('toolscript', ['mcp', 'install', client.name, '--yes']);
  client.configure(place, url);
  const started = place.start(command, [...first, ...client.editorServer], { input: 'pipe' });
  void started.ended.then(({ output }) => model.fail(new Error(`The client ended:\n${output.slice(-2_000)}`)));
  try {
    const forms = await startTurn(started, 'Follow your plan.');
    const code = "return tools.mcp.desk.send({ to: 'Eve' })";
    const { text } = await call(model, await model.begins(), 'run_script', { code });
    if (!/sent to Eve/u.test(text)) throw new Error(text);
    const form = forms.at(-1);
    if (!/mcp\.desk\.send.*to: Eve/su.test(form.message)) throw new Error(JSON.stringify(forms));
    return `${form.message.replaceAll(/\s+/gu, ' ')}: ${form.requestedSchema.properties.decision.enum.join(', ')}`;
  } finally {
    model.close();
    started.child.kill('SIGKILL');
    place.remove();
  }
}

async function checkInstall({ name, list }, place, run) {
  await place.run('toolscript', ['mcp', 'install', name, '--yes']);
  const { output } = await run(list).ended;
  if (!/toolscript/u.test(output)) throw new Error(`The client does not list the server:\n${output}`);
  return output.trim().split('\n').at(-1);
}

/** One conversation of the client with its model. */
async function converse(client, { place, model, run }) {
  const { child, ended } = run(client.prompt('Follow your plan.'));
  void ended.then(({ status, output }) =>
    model.fail(new Error(`The client ended with ${status}:\n${output.slice(-2_000)}`)),
  );
  try {
    const first = await model.begins();
    const script = (code) => call(model, first, 'run_script', { code });
    const offer = await gatewayOffer(place);
    const scene = { client, offer, first, place, script, call: (name, input) => call(model, first, name, input) };
    for (const step of STEPS)
      if (!(step.isLong && isShort) && step.isFor?.(client) !== false)
        await row(client, step.name, () => step.act(scene));
    model.ends('The plan is complete.');
    await ended;
  } catch (error) {
    failures.push(`${client.name}: ${error.message}`);
  } finally {
    child.kill('SIGKILL');
  }
}

/** Calls a tool, and returns the text and the images that the model reads. */
async function call(model, { tools }, name, input) {
  const tool = tools.find((one) => one.name.endsWith(name));
  const { results } = await model.calls(tool, input);
  return results.at(-1);
}

/** Runs a step and prints its row. */
async function row(client, name, act) {
  const label = `${client.name.padEnd(12)} ${name.padEnd(40)}`;
  try {
    const said = await act();
    console.log(`ok      ${label} ${said ?? ''}`);
  } catch (error) {
    failures.push(`${label}\n${error.message}`);
    console.log(`FAILED  ${label}`);
  }
}

function keep({ name }, { requests }) {
  if (!process.argv.includes('--keep')) return;
  const folder = join(tmpdir(), `toolscript-client-requests-${name}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'requests.json'), JSON.stringify(requests, undefined, 2));
  console.log(`        ${folder}`);
}
