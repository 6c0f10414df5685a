/**
 * Every mistake of a host's programmer, by its code. `docs/reference/errors.md` lists the same rows; a test compares
 * the two, and fails for a code that no source uses. `<name>` in a message stands for the value of that name.
 */
export const USAGE_ERRORS = {
  // Arguments and options
  ARGUMENT_INVALID: '<method> needs <expected>.',
  OPTION_INVALID: '<option> must be <expected>.',
  OPTIONS_INVALID: '<where>: <problem>',
  UNKNOWN_OPTION: '<method>: unknown option "<option>".<advice>',
  UNKNOWN_MEMBER: '<where> has an unknown member "<member>".<advice>',
  HARNESS_CLOSED: 'This harness is closed. Create another one with createHarness.',
  STORE_MISSING: '<what> needs a harness with a store. Pass createHarness the option store.',
  TOKEN_BUDGET_TOO_SMALL:
    'instructions: a tokenBudget of <tokenBudget> is too small for any text. Set it to at least <least>.',

  // Installation
  CORE_FILES_NOT_FOUND:
    'Toolscript does not find the files that it loads by path (its worker threads, its engine), because a bundler has copied its code elsewhere. Leave @toolscript/core out of the bundle (esbuild, Vite, webpack: "external"; Next.js: "serverExternalPackages"), or install it in a node_modules beside the program, or set TOOLSCRIPT_CORE to the folder of the installed package.',
  CORE_PACKAGE_INCOMPLETE:
    '<source> <folder>, which is not a complete package @toolscript/core: dist/sandbox/artefacts/execute.json is missing. Install the package again, or set TOOLSCRIPT_CORE to the folder of a complete package.',
  CORE_VERSION_OTHER:
    '<source> version <version> of @toolscript/core in <folder>, but this code is version <expected>. Install one version, and build the program again.',
  RUNTIME_NOT_INSTALLED: 'The runtime "isolated-vm" needs the package <name>, which is not installed. Run: <command>',
  RUNTIME_FILES_NOT_FOUND: `The runtime "isolated-vm" does not find its file <name>, because a bundler has copied its code elsewhere. Leave @toolscript/isolated-vm out of the bundle, or write createHarness({ runtime: 'isolated-vm' }), which loads the installed package.`,

  // Tools and packs
  TOOL_NOT_DEFINED: 'A tool must be made by defineTool. Pass its definition to defineTool first.',
  TOOL_WITHOUT_NAME: 'A tool needs a name: a non-empty string.',
  TOOL_WITHOUT_DESCRIPTION: '<tool> needs a description: a string for the model.',
  TOOL_WITHOUT_EXECUTE: '<tool> needs a function "execute" that runs a call.',
  TOOL_MEMBER_INVALID: '<member> must be <expected>.',
  TOOL_NAME_CHARACTERS:
    'The tool name <name> has characters other than letters, digits, "_", "$" and "-". Rename the tool.',
  TOOL_NAME_IS_NAMESPACE: '"<namespace>" is both a tool ("<tool>") and the namespace of "<other>"; rename one of them.',
  TOOL_NAME_PART_EMPTY: 'The tool name <name> has an empty part; write names like "readFile" or "prompts.save".',
  TOOL_NAME_PART_TOO_LONG: 'A part of the tool name <name> is longer than <most> characters. Use a shorter name.',
  TOOL_NAME_RESERVED: 'The tool name <name> uses "<part>", which is reserved; choose another name.',
  TOOL_NAME_TAKEN: 'Two tools have the name "<name>"; rename one of them.',
  TOOL_NAME_TOO_DEEP: 'The tool name <name> has more than <most> parts. Use fewer.',
  TOOL_NAME_WITHOUT_SERVER: 'The tool name <name> must have the form <namespace>.SERVER.TOOL.',
  TOOL_NAMES_COLLIDE:
    'The tools "<other>" and "<name>" would both be written tools.<shared> in a script; rename one of them.',
  TOOL_INPUT_NOT_AN_OBJECT: '<where> must describe <kind>, because tools take one object of named arguments.',
  TOOL_SCHEMA_GIVEN_TWICE: 'The tool "<tool>" has both "<first>" and "<second>"; give one of them.',
  ALIAS_IS_ARGUMENT:
    '"aliases" of <tool> has "<alias>", which is the name of an argument; remove it from "aliases" or rename the argument.',
  ALIAS_OF_NOTHING:
    '"aliases" of <tool> has "<alias>" for "<name>", which no argument has as its name; the arguments are <names>.',
  UNKNOWN_TOOL: 'There is no <kind> "<name>", which <where> names.<advice>',
  UNKNOWN_PACK: 'There is no pack "<name>"<user>.<advice>',
  PACK_INVALID: '<member> must be <expected>.',
  PACK_IS_BUILT_IN: 'The pack "<name>" is built in. Choose another name; the new pack may extend "<name>".',
  PACK_CYCLE: 'The packs extend each other in a cycle: <packs>. Remove one "extends" of the cycle.',
  SDK_TOOL_WITHOUT_EXECUTE:
    'The tool "<name>" has no execute, so a script cannot call it. Pass the tool to the AI SDK in addition to the script tool.',
  SDK_SCHEMA_IS_A_PROMISE:
    'The tool "<name>" has a JSON Schema that is a promise. Pass the tool to createScriptTool, or await its schema before.',
  SDK_TWO_APPROVALS: 'Both "approvals" and "toolApproval" decide about calls; give one of them.',
  FUNCTION_NAME_TAKEN: `The name of the client's function <name> is taken. Give the function another name.`,

  // Schemas
  JSON_SCHEMA_NOT_AN_OBJECT: '<where> must be a JSON Schema object, for example { "type": "object" }.',
  JSON_SCHEMA_UNUSABLE: '<where> is not a usable JSON Schema<place>: <reason>.',
  SCHEMA_UNKNOWN:
    '<where> is not a schema of zod 4 or of Standard Schema; "<member>" takes such a schema, and "<member>Schema" takes a JSON Schema.',
  SCHEMA_WITHOUT_JSON_SCHEMA:
    '<where> has no JSON Schema, which models need: its library must implement Standard JSON Schema (zod 4, ArkType from 2.1.28, Valibot with toStandardJsonSchema of @valibot/to-json-schema).',
  SCHEMA_WITHOUT_JSON_FORM: '<where> cannot be written as JSON Schema. Change the schema: <problem>',
  SCHEMA_PART_WITHOUT_JSON_FORM: '<where> cannot be represented as JSON at <place>: <replacement>.',
  SCHEMA_PART_UNCHECKABLE: '<where> cannot be checked at <place>: <problem>.',

  // Scripts and answers
  ANSWER_CHUNK_INVALID: 'processText needs text; its source yielded <kind>. Yield strings only.',
  COMPILER_CLOSED: 'The compiler is closed. Create another one.',
  DETECTOR_ENDED: 'This detector has ended. Create a new detector for each answer.',
  SCRIPT_TAG_INVALID:
    '<tag> cannot be a script tag: a tag is a letter followed by up to 63 letters, digits or any of _ . : -',
  SCRIPT_NONCE_INVALID:
    '<nonce> cannot be the nonce of scripts: a nonce is 1 to 64 letters, digits, _ or -. Choose a random text of these.',
  SCRIPT_NONCE_MISSING:
    'agentBeginning needs the nonce of the thread, because the scripts of this agent arrive in text. Pass { nonce: newScriptNonce() }, and the same nonce to runAgent.',
  SCRIPT_TAG_OF_REASONING: `"<tag>" cannot be a script tag: this tag holds the model's reasoning. Choose another name.`,

  // Approvals and suspended scripts
  APPROVAL_RULE_WITHOUT_ACTION: '<rule> needs an action: "approve", "deny" or "ask".',
  DECISION_INVALID:
    'decisions: the decision about <approvalId> must be "approve", "deny" or { decision, input?, note?, remember?, expiresAt? }, where note is text, remember "script", "plan" or "workspace", and expiresAt a number of ms since 1970.',
  UNKNOWN_APPROVAL: 'decisions: no approval "<approvalId>" is pending. <advice>.',
  SUSPENSION_KEY_TOO_SHORT:
    'suspensionKey has <bytes> bytes; it needs at least <least>. Use random bytes, as obtainKeyFile creates them.',
  KEY_FILE_DELETED: '<name> was deleted while it was created. Start Toolscript again.',
  KEY_FILE_IS_LINK: '<name> is a link. Replace it with the key file itself, or remove it.',
  KEY_FILE_READABLE_BY_OTHERS:
    '<name> is accessible to other users, who could forge your pending approvals. If no other user has read it, run: chmod 600 <name>. Otherwise delete it: a new key replaces it, and scripts suspended with the old key cannot be resumed.',
  KEY_FILE_TOO_SHORT:
    '<name> has <bytes> bytes, and a key has at least <least>. Restore it from a backup, or delete it: a new key replaces it, and scripts suspended with the old key cannot be resumed.',
  KEY_FILE_UNREADABLE: '<name> cannot be read (<code>). Make the file readable for your user: chmod 600 <name>',
  PRIVATE_FILE_NOT_WRITABLE:
    'The file "<path>" cannot be written (<code>). Free disk space, or make its folder writable.',
  PRIVATE_FILE_UNUSABLE: 'The file "<path>" cannot be used: <reason>. <advice>',

  // Stores
  CURSOR_INVALID: '<cursor> is not a cursor of this list. Start the list again without "after"',
  EVENT_OUT_OF_PLACE: 'events.<index> must be event <seq> of the run <runId>',
  ID_TAKEN: 'The <kind> id <id> already exists. Use a new one',
  JOURNAL_LINE_INVALID: 'A line of a journal must be well-formed text without line feeds',
  SCRIPT_ID_INVALID: '<scriptId> is not a script id. Use 1 to 128 letters, digits, "_" and "-"',
  SHA256_INVALID: '<sha256> is not a SHA-256. Use 64 hexadecimal digits',
  STORE_VALUE_INVALID: '<path> is not valid: <problem>',

  // Agents and providers
  AGENT_INVALID: 'defineAgent: <problem>',
  AGENT_UNUSABLE: '<problem>',
  AGENT_NOT_LAUNCHABLE: 'This agent may not launch <slug>. It may launch <names>.',
  AGENT_WITHOUT_PROVIDER: 'The agent <slug> names no provider. Set its provider: { api, model }.',
  AGENT_WITHOUT_TOOL: 'The agent has no tool <tool> to expose. It has <names>.',
  BASE_URL_NOT_ABSOLUTE: 'createProvider: baseUrl is not an absolute URL. Use a URL such as https://api.openai.com/v1.',
  BASE_URL_NOT_HTTP: 'createProvider: baseUrl must start with http: or https:.',
  BASE_URL_OF_OTHER_FORMAT:
    'createProvider: this address of <platform> does not speak the format anthropic-messages. Set baseUrl to <baseUrl>.',
  BASE_URL_WITH_PASSWORD:
    'createProvider: baseUrl must not contain a user name or password. Pass them in options.headers.',
  COST_BUDGET_WITHOUT_PRICES:
    'defineAgent: costBudget needs prices. Set prices.input and prices.output: US dollars for a million tokens.',
  PROVIDER_KEY_UNENCRYPTED:
    'createProvider: the key would be sent unencrypted <way>, because baseUrl starts with http:. Either <remedy>, or set allowInsecureHttp: true if you trust the network.',
  PROVIDER_WITHOUT_MODEL: 'createProvider: options.model is missing. Set it to the name of a model.',
  PROXY_URL_NOT_HTTP: 'The proxy of HTTP_PROXY or HTTPS_PROXY must be an http: or https: URL.',
  RUN_NOT_INTERRUPTED: 'recoverRun needs the events of a run that has not ended. Use resumeRun for a suspended run.',
  RUN_NOT_SUSPENDED: 'resumeRun needs the events of a suspended run. Use recoverRun for a run that has not ended.',
  SCENARIO_INVALID: 'The scenario is not valid: <problems>',
  TOO_MANY_HARNESSES:
    'The agents already use <most> harnesses, the maximum. Configure fewer agents. Agents without sub-agents share a harness if they have the same tools and pack.',
  UNKNOWN_AGENT: 'There is no agent "<slug>".<advice>',
  UNKNOWN_PROVIDER_API: 'Unknown api "<api>". Use one of <known>.',

  // MCP servers
  MCP_CONFIGURATION_INVALID:
    'The MCP configuration is not an object of servers. Write { "mcpServers": { "NAME": { "command": … } or { "url": … } } }.',
  MCP_REDIRECT_OF_OTHER_LOGIN:
    'The redirect address does not belong to the requested login to "<name>". Connect again, and log in at the new page.',
  MCP_SERVER_WITHOUT_LOGIN:
    'The MCP server "<name>" has no login: it is a local program, or there is no authProvider. Set authProvider for a remote server.',
  UNKNOWN_MCP_SERVER: 'There is no MCP server "<server>". The servers are: <known>.',

  // Built-in tools
  COMMAND_PREFIX_INVALID:
    '"<prefix>" is not a command prefix. Use the words that the command starts with, without "*".',
  PROMPT_INVALID: '<file>: <problem>',
  PROMPT_IS_LINK:
    '<file> is a link, has a second name (a hard link), or is reached through a link. Put a copy of the file in its place.',
  PROMPT_MEMBER_INVALID: '<file>: the front matter is wrong at "<member>". Correct it: <problem>',
  PROMPT_NAME_INVALID:
    '<file> has no valid name. Rename the file, or add "name" to its front matter: letters, digits, "_", "-" and "." after a letter.',
  PROMPT_NAME_TAKEN: '<file> and <other> have the same name "<name>". Change one of the names.',
  PROMPT_NOT_A_FILE: '<file> is not a file. Remove it.',
  PROMPT_NOT_A_MAPPING: '<file>: the front matter is not a YAML mapping. Write lines such as "description: …".',
  PROMPT_NOT_YAML: '<file>: the front matter is not YAML. Correct it: <problem>',
  PROMPT_TOO_LARGE: '<file> has <bytes> bytes; a prompt has at most <most>. Make it shorter.',
  PROMPT_UNREADABLE: '<path> cannot be read (<code>). Make the <kind> readable for your user, or remove the <kind>.',
  PROTECTED_NAME_UNKNOWN: "'<name>' is not a protected name. Use a name of PROTECTED_NAMES.",
  UNDO_WITHOUT_RECORDS: 'Undo needs a workspace that records changes. Set its option "undo": { folder }.',
  VERIFICATION_UNAVAILABLE:
    "Verification 'descriptor' needs /proc/self/fd, which this machine does not have. Mount /proc, or set verification to 'path'.",
  WEB_ALLOW_INVALID:
    '"<entry>" in "allow" of the web tools is not valid. Use a host name, an address, or a range such as 10.1.0.0/16.',
  WORKSPACE_ROOT_GIVEN_TWICE: "The workspace root '<path>' is given twice. Give each root once.",
  WORKSPACE_ROOT_MISSING:
    "The workspace root '<path>' does not exist or cannot be opened. Create the folder, or give your user permission to open it.",
  WORKSPACE_ROOT_NOT_A_FOLDER: "The workspace root '<path>' is not a folder. Name a folder.",
  WORKSPACE_ROOT_NOT_A_PATH: 'A workspace root is not a path. Pass the path of a folder.',
  WORKSPACE_WITHOUT_ROOT: 'The workspace has no root folder. Pass one or more paths.',

  // Servers
  CONVEX_NOT_INSTALLED: 'The package convex is not installed. Install it: npm install convex',
  CONVEX_SECRET_TOO_SHORT:
    'The secret of the Convex deployment needs at least <least> characters. Make one: openssl rand -hex 32',
  CONVEX_URL_INVALID:
    'The URL of the Convex deployment is malformed, or its secret would be sent unencrypted. Use its Deployment URL, such as "https://happy-otter-123.convex.cloud".',
  HOST_INVALID:
    'The host <host> is not a host name. Use a name or an address without scheme and port, such as "tools.example.com"',
  ORIGIN_INVALID:
    'The origin <origin> is not an origin of a page. Use scheme, host and port without a path, such as "https://app.example.com"',
  PAGE_NOT_BUILT: 'createServer: page is <root>, which has no index.html. Build the page first.',
  POSTGRESQL_LISTEN_INVALID:
    'The parameter "listen" of the PostgreSQL URL is <listen>. Write the address of the server itself: ?listen=HOST:PORT',
  POSTGRESQL_URL_INVALID:
    'The URL of the PostgreSQL database is malformed. Write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with % escapes in the password.',
  REDIS_URL_INVALID:
    'The URL of Redis is malformed. Write redis://USER:PASSWORD@HOST:PORT/NUMBER?prefix=NAME, or rediss:// for TLS, with % escapes in the password; the prefix has letters, digits, "_", "-" and ".".',
  SERVER_AGENTS_WITHOUT_KEY:
    'createServer: agents over PostgreSQL need harness.suspensionKey. Set the same secret of at least 32 bytes in all processes.',
  SERVER_AGENTS_WITHOUT_TOOLS: 'createServer: agents need tools. Set { harness: { tools } }.',
  SERVER_OPTION_NOT_IN_RANGE: 'createServer: <option> is <value>. Use a whole number <range>.',
  SERVER_QUEUE_LIMIT_TOO_LARGE: 'createServer: limits.queuedRunsPerPrincipal is too large. Use at most <most>.',
  SERVER_ROLES_IN_MEMORY:
    'createServer: processes with roles cannot share "memory:". Name a database, such as "postgres://…".',
  SERVER_ROLES_INVALID: 'createServer: roles is empty, or has an unknown role. Use one or more of <known>.',
  SERVER_STORES_INCOMPLETE: 'createServer: stores is already open, but events or scripts is missing. Pass all three.',
  SERVER_TOKEN_TOO_SHORT:
    'createServer: auth.token is too short. Use at least 16 characters, such as those of: openssl rand -hex 32',
  SERVER_WITHOUT_AUTHENTICATION:
    'createServer: auth has no way to check clients. Set auth.token, auth.keys or auth.authenticate.',
  STORE_URL_UNSUPPORTED:
    '<opened> cannot be opened at <url>. Supported are <redis>"postgres://…", "libsql:FILE", with the path of a file on this machine, and "memory:".',
  UNKNOWN_SERVER_LIMIT: 'createServer: there is no limit <name>. The limits are <known>',
} as const;

/** The code of a mistake. Codes stay the same from release to release, messages may change. */
export type UsageErrorCode = keyof typeof USAGE_ERRORS;

/** A code, and the values that its message needs. */
export type UsageMistake = {
  [Code in UsageErrorCode]: [code: Code, ...values: MessageValues<NameIn<(typeof USAGE_ERRORS)[Code]>>];
}[UsageErrorCode];

type MessageValues<Name extends string> = [Name] extends [never]
  ? []
  : [values: { readonly [Each in Name]: string | number }];

type NameIn<Message extends string> = Message extends `${string}<${infer Name}>${infer Rest}`
  ? Name | NameIn<Rest>
  : never;

/** The message of a mistake. A value is inserted as it is, also if it contains `<name>`. */
export function usageMessage([code, values]: UsageMistake): string {
  return USAGE_ERRORS[code].replace(/<(\w+)>/gu, (_placeholder, name: string) =>
    String((values as Readonly<Record<string, string | number>>)[name]),
  );
}
