// The client under test of the conformance suite: a harness with the suite's server. Usage: node client.mjs URL
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHarness } from '@toolscript/core';
import { connectMcpServers, oauthFile } from '@toolscript/mcp';

const url = process.argv[2];
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const pages = [];
const authProvider = oauthFile({
  path: join(mkdtempSync(join(tmpdir(), 'conformance-')), 'logins.json'),
  redirectUrl: 'http://127.0.0.1:9/callback',
  clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
  onRedirect: (_server, page) => void pages.push(page),
});
const secret = context.private_key_pem ?? context.client_secret;
const options = {
  authProvider,
  environment: { SECRET: secret },
  // A form that the user sends as it is has its defaults.
  onElicitation: async ({ requestedSchema }) => ({
    action: 'accept',
    content: Object.fromEntries(
      Object.entries(requestedSchema?.properties ?? {}).flatMap(([name, field]) =>
        field.default === undefined ? [] : [[name, field.default]],
      ),
    ),
  }),
};
const hasLogin = process.env.MCP_CONFORMANCE_SCENARIO?.startsWith('auth/');
/** The user has read which login service the server has. */
let issuer = hasLogin ? await namedIssuer() : undefined;
let { status, failures } = await connectAndCall();
// The user reads it again when the server refuses access, and corrects the configuration.
const isRefused = status.state !== 'connected' || failures.length > 0;
const newIssuer = hasLogin && isRefused ? await namedIssuer() : issuer;
if (newIssuer !== issuer) {
  issuer = newIssuer;
  ({ status, failures } = await connectAndCall());
}
if (status.problem !== undefined) failures.push(status.problem);
for (const skipped of status.skipped) console.error(`skipped ${skipped.name}: ${skipped.reason}`);
console.error(failures.join('\n'));
process.exit(status.state === 'connected' ? 0 : 1);

/** Connects and calls every tool. Returns the state of the server, and the calls that failed. */
async function connectAndCall() {
  const oauth = issuer === undefined ? {} : { oauth: { issuer, ...credentials() } };
  const mcp = await connectMcpServers({ mcpServers: { suite: { url, ...oauth, callTimeoutMs: 20_000 } } }, options);
  await logIn(mcp);
  const harness = createHarness({ tools: [], expose: { mcp: true }, approvals: 'auto' });
  mcp.attach(harness);
  const failures = [];
  const tools = harness.tools().filter(({ name }) => name.startsWith('mcp.suite.'));
  const calls =
    context.toolCalls?.map(({ name, arguments: input }) => ({ name: `mcp.suite.${name}`, input })) ??
    tools.map(({ name, inputSchema }) => ({ name, input: inputOf(tools, name, inputSchema ?? {}) }));
  for (const { name, input } of calls) {
    let outcome = await harness.callTool(name, input);
    // The user logs in once more where a call needs more scopes.
    if (outcome.status === 'failed' && (await logIn(mcp))) outcome = await harness.callTool(name, input);
    if (outcome.status === 'failed') failures.push(`${name}: ${JSON.stringify(outcome)}`);
  }
  const [status] = mcp.status();
  await Promise.all([harness.close(), mcp.close()]);
  return { status, failures };
}

/** The members of `oauth` for a program without a user. */
function credentials() {
  if (secret === undefined) return {};
  const { client_id: clientId, private_key_pem: key, signing_algorithm: algorithm } = context;
  return { clientId, ...(key === undefined ? { clientSecret: '${SECRET}' } : { privateKey: '${SECRET}', algorithm }) };
}

/** Logs in as the pages ask. Returns whether there were any. */
async function logIn(mcp) {
  let rounds = 0;
  for (; rounds < 3 && pages.length > 0; rounds++) {
    const { headers } = await fetch(pages.splice(0).at(-1), { redirect: 'manual' });
    await mcp.finishLogin('suite', headers.get('location'));
  }
  return rounds > 0;
}

/** A tool that is given the schema of another tool gets it as the harness has it. */
function inputOf(tools, name, schema) {
  const other = tools.find((tool) => tool.name.endsWith('.json_schema_2020_12_tool'));
  return name.endsWith('.json_schema_echo') ? { schema: other.inputSchema } : sample(schema);
}

/** Arguments that fit a simple schema. */
function sample({ properties = {} }) {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, value(schema)]));
}

function value({ type, enum: values, default: preset, properties }) {
  if (preset !== undefined) return preset;
  if (values !== undefined) return values[0];
  const samples = {
    string: 'text',
    number: 1,
    integer: 1,
    boolean: true,
    array: [],
    object: properties && sample({ properties }),
  };
  return samples[[type].flat()[0]] ?? null;
}

async function namedIssuer() {
  const asked = await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
  const [, named] = /resource_metadata="([^"]+)"/u.exec(asked.headers.get('www-authenticate') ?? '') ?? [];
  const usual = ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'];
  for (const place of [...(named ? [named] : []), ...usual]) {
    const answer = await fetch(new URL(place, url)).catch(() => undefined);
    const { authorization_servers: servers } = answer?.ok ? await answer.json().catch(() => ({})) : {};
    if (servers?.[0] !== undefined) return servers[0];
  }
  return undefined;
}
