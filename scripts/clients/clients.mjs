// The clients: how each is started without a person, and how it finds its model. All of it is documented by the clients.
import { join } from 'node:path';
import { anthropic } from './dialects/anthropic.mjs';
import { chat } from './dialects/chat.mjs';
import { gemini } from './dialects/gemini.mjs';
import { responses } from './dialects/responses.mjs';

const machine = `${process.platform}-${process.arch}`;

const APPROVAL = JSON.stringify({
  hookSpecificOutput: { hookEventName: 'Elicitation', action: 'accept', content: { decision: 'approve' } },
});

export const CLIENTS = [
  {
    name: 'claude-code',
    showsForms: true,
    package: '@anthropic-ai/claude-code@2.1.332',
    showsInstructions: true,
    dialect: anthropic,
    program: (folder) => [join(folder, `node_modules/@anthropic-ai/claude-code-${machine}/claude`)],
    variables: (url) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      // Otherwise the first answer can come before the tools, on a busy machine.
      MCP_CONNECTION_NONBLOCKING: '0',
      MCP_TIMEOUT: '120000',
    }),
    list: ['mcp', 'list'],
    // A hook fills in the form, as a user of the terminal does.
    answersForms: true,
    configure: (place) =>
      place.merge('.claude/settings.json', {
        hooks: { Elicitation: [{ hooks: [{ type: 'command', command: `grep -q 'to: Eve' && echo '${APPROVAL}'` }] }] },
      }),
    prompt: (prompt) => ['-p', prompt, '--allowedTools', 'mcp__toolscript'],
  },
  {
    name: 'codex',
    showsForms: true,
    package: '@openai/codex@0.171.0',
    showsInstructions: true,
    dialect: responses,
    program: (folder) => [process.execPath, join(folder, 'node_modules/@openai/codex/bin/codex.js')],
    /** Editors show the user its forms. */
    editorServer: ['app-server'],
    variables: () => ({ MOCK_KEY: 'none' }),
    list: ['mcp', 'list'],
    configure: (place, url) =>
      place.prepend('.codex/config.toml', [
        'model = "gpt-6"',
        'model_provider = "mock"',
        'check_for_update_on_startup = false',
        // Otherwise the first answer can come before the tools, on a busy machine.
        'mcp_optional_startup_grace_ms = 0',
        '[analytics]',
        'enabled = false',
        '[model_providers.mock]',
        'name = "mock"',
        `base_url = "${url}/v1"`,
        'env_key = "MOCK_KEY"',
        'wire_api = "responses"',
        '',
      ]),
    prompt: (prompt) => ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
  },
  {
    name: 'opencode',
    showsForms: false,
    package: 'opencode-ai@1.18.33',
    showsInstructions: true,
    dialect: chat,
    program: (folder) => [join(folder, `node_modules/opencode-${machine}/bin/opencode`)],
    variables: (url) => ({
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        model: 'mock/model',
        share: 'disabled',
        permission: 'allow',
        provider: {
          mock: {
            npm: '@ai-sdk/openai-compatible',
            name: 'mock',
            options: { baseURL: `${url}/v1`, apiKey: 'none' },
            models: {
              model: {
                name: 'model',
                attachment: true,
                tool_call: true,
                limit: { context: 200_000, output: 8_000 },
                modalities: { input: ['text', 'image'], output: ['text'] },
              },
            },
          },
        },
      }),
    }),
    list: ['mcp', 'list'],
    prompt: (prompt) => ['run', prompt],
  },
  {
    name: 'gemini',
    showsForms: false,
    package: '@google/gemini-cli@0.61.0',
    showsInstructions: true,
    dialect: gemini,
    program: (folder) => [process.execPath, join(folder, 'node_modules/@google/gemini-cli/bundle/gemini.js')],
    variables: (url) => ({
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_API_KEY: 'none',
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_TELEMETRY_ENABLED: 'false',
    }),
    list: ['mcp', 'list'],
    configure: (place) =>
      place.merge('.gemini/settings.json', {
        general: { disableAutoUpdate: true, enableAutoUpdate: false },
        privacy: { usageStatisticsEnabled: false },
        security: { auth: { selectedType: 'gemini-api-key' } },
      }),
    prompt: (prompt) => ['-p', prompt, '--model', 'gemini-2.5-pro', '--yolo'],
  },
];
