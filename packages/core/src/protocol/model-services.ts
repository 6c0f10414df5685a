/** Environment variables. */
type Environment = Readonly<Record<string, string | undefined>>;

/** Where a model is asked, and which variable holds the key. */
export interface ModelService {
  readonly baseUrl: string;
  /** The variable that sets the address. Undefined: the address is the vendor's own. */
  readonly addressVariable?: string | undefined;
  readonly keyVariable: string;
}

/** A service as the usual variables set it. The names are those of the SDKs of the services. */
interface ServiceVariables {
  readonly key: string;
  /** The first variable that is set gives the address. */
  readonly addresses: readonly (readonly [variable: string, address: (value: string) => string | undefined])[];
}

interface Vendor {
  readonly baseUrl: string;
  readonly own: ServiceVariables;
  readonly platforms: readonly ServiceVariables[];
}

const asItIs = (value: string): string => value;

/*
 * Sources, read on 2026-11-28: https://docs.aws.amazon.com/bedrock/latest/userguide/getting-started.html,
 * https://platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry,
 * https://learn.microsoft.com/en-us/azure/foundry/openai/api-version-lifecycle, and the SDKs of OpenAI and Anthropic.
 */
const OPENAI: Vendor = {
  baseUrl: 'https://api.openai.com/v1',
  own: { key: 'OPENAI_API_KEY', addresses: [['OPENAI_BASE_URL', asItIs]] },
  platforms: [{ key: 'AZURE_OPENAI_API_KEY', addresses: [['AZURE_OPENAI_ENDPOINT', asItIs]] }],
};

const ANTHROPIC: Vendor = {
  baseUrl: 'https://api.anthropic.com',
  own: { key: 'ANTHROPIC_API_KEY', addresses: [['ANTHROPIC_BASE_URL', asItIs]] },
  platforms: [
    {
      key: 'ANTHROPIC_FOUNDRY_API_KEY',
      addresses: [
        ['ANTHROPIC_FOUNDRY_BASE_URL', asItIs],
        ['ANTHROPIC_FOUNDRY_RESOURCE', (resource) => `https://${resource}.services.ai.azure.com/anthropic`],
      ],
    },
    {
      key: 'AWS_BEARER_TOKEN_BEDROCK',
      addresses: [
        ['ANTHROPIC_BASE_URL', (url) => (BEDROCK_HOST.test(urlHostname(url)) ? url : undefined)],
        ['ANTHROPIC_BEDROCK_BASE_URL', asItIs],
        ['AWS_REGION', (region) => `https://bedrock-runtime.${region}.amazonaws.com/anthropic`],
      ],
    },
  ],
};

const VENDORS: Readonly<Record<string, Vendor>> = {
  'openai-responses': OPENAI,
  'openai-chat': OPENAI,
  'anthropic-messages': ANTHROPIC,
};

/** The hosts of Amazon Bedrock. */
export const BEDROCK_HOST = /^bedrock-(?:runtime\.[a-z0-9-]+\.amazonaws\.com|mantle\.[a-z0-9-]+\.api\.aws)$/u;

/** The vendor's service, at the address that the environment sets. Undefined for an unknown wire format. */
export function ownService(api: string, environment: Environment): ModelService | undefined {
  if (!Object.hasOwn(VENDORS, api)) return undefined;
  const { baseUrl, own } = VENDORS[api]!;
  return serviceAt(own, environment) ?? { baseUrl, keyVariable: own.key };
}

/**
 * The service for which the environment has a key: the vendor's, or else a platform (Azure, Microsoft Foundry, Amazon
 * Bedrock) whose key and address it sets. Without any key, the vendor's service.
 */
export function serviceWithKey(api: string, environment: Environment): ModelService | undefined {
  const own = ownService(api, environment);
  if (own === undefined || variableValue(environment, own.keyVariable) !== undefined) return own;
  const withKey = VENDORS[api]!.platforms.filter(({ key }) => variableValue(environment, key) !== undefined);
  return withKey.map((platform) => serviceAt(platform, environment)).find((service) => service !== undefined) ?? own;
}

function serviceAt({ key, addresses }: ServiceVariables, environment: Environment): ModelService | undefined {
  for (const [variable, address] of addresses) {
    const value = variableValue(environment, variable);
    const baseUrl = value === undefined ? undefined : address(value);
    if (baseUrl !== undefined) return { baseUrl, addressVariable: variable, keyVariable: key };
  }
  return undefined;
}

function variableValue(environment: Environment, name: string): string | undefined {
  return environment[name]?.trim() || undefined;
}

function urlHostname(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}
