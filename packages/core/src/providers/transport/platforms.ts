import { ToolscriptUsageError } from '../../protocol/index.js';
import { BEDROCK_HOST } from '../../protocol/model-services.js';

/** Where a request goes, and what the service there expects in place of what the vendor's own service expects. */
export interface RequestPlace {
  readonly url: URL;
  readonly keyHeader?: ((apiKey: string) => Record<string, string>) | undefined;
  readonly body?: ((body: object) => object) | undefined;
}

interface Wanted {
  /** The path of the wire format. */
  readonly path: string;
  readonly model: string;
}

const MESSAGES_PATH = '/v1/messages';
const AZURE_HOST = /\.(?:openai|cognitiveservices|services\.ai)\.azure\.com$/u;
const VERTEX_HOST = /^(?:[a-z0-9-]+-)?aiplatform\.(?:[a-z]+\.rep\.)?googleapis\.com$/u;
const VERTEX_LOCATION = /^(\/v1\/projects\/[^/]+\/locations\/[^/]+)(?:\/.*)?$/u;
/** The paths of Bedrock's InvokeModel and Converse, which speak other formats. */
const BEDROCK_MODEL = /^\/model(?:\/|$)/u;

/**
 * The place of a service at a base URL. Platforms that serve the wire format at a path of their own get this path.
 * Throws a `ToolscriptUsageError` for an address of a platform that speaks another format.
 *
 * Sources, read on 2026-11-28: https://docs.aws.amazon.com/bedrock/latest/userguide/inference-messages-api.html,
 * https://cljdoc.org/d/net.clojars.deadmeme5441/clojure-llm-sdk/0.2.2/api/llm.sdk.providers.anthropic.vertex,
 * https://learn.microsoft.com/en-us/azure/foundry/openai/api-version-lifecycle and
 * https://platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry.
 */
export function requestPlace(baseUrl: URL, { path, model }: Wanted): RequestPlace {
  const { hostname, pathname } = baseUrl;
  const isMessages = path === MESSAGES_PATH;
  if (AZURE_HOST.test(hostname) && pathname === '/')
    return { url: at(baseUrl, isMessages ? `/anthropic${path}` : `/openai/v1${path}`) };
  if (isMessages && BEDROCK_HOST.test(hostname)) {
    if (BEDROCK_MODEL.test(pathname)) throw otherFormat('Amazon Bedrock', `https://${hostname}/anthropic`);
    return { url: at(baseUrl, withPath(pathname === '/' ? '/anthropic' : pathname, path)), keyHeader: bearer };
  }
  if (isMessages && VERTEX_HOST.test(hostname)) {
    const location = VERTEX_LOCATION.exec(pathname)?.[1];
    if (location === undefined)
      throw otherFormat('Vertex AI', `https://${hostname}/v1/projects/PROJECT/locations/LOCATION`);
    const url = at(baseUrl, `${location}/publishers/anthropic/models/${encodeURIComponent(model)}:streamRawPredict`);
    return { url, keyHeader: bearer, body: vertexBody };
  }
  return { url: at(baseUrl, withPath(pathname, path)) };
}

export function bearer(apiKey: string): Record<string, string> {
  return { authorization: `Bearer ${apiKey}` };
}

function at(baseUrl: URL, pathname: string): URL {
  const url = new URL(baseUrl);
  url.pathname = pathname;
  return url;
}

/** The base path with the path of the format, which an address may name already, as a whole or up to its `/v1`. */
function withPath(basePath: string, path: string): string {
  const base = basePath.replace(/(?<!\/)\/+$/u, '');
  if (base.endsWith(path)) return base;
  return base.endsWith('/v1') && path.startsWith('/v1/') ? base + path.slice('/v1'.length) : base + path;
}

/** Vertex has the model in the address, and the version of the format in the body. */
function vertexBody(body: object): object {
  const { model: _model, ...others } = body as { model?: unknown };
  return { anthropic_version: 'vertex-2023-10-16', ...others };
}

function otherFormat(platform: string, baseUrl: string): ToolscriptUsageError {
  return new ToolscriptUsageError('BASE_URL_OF_OTHER_FORMAT', { platform, baseUrl });
}
