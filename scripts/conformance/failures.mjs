/** The scenarios that fail, each with the reason. */
export const FAILURES = {
  'auth/dpop': 'an extension in draft (SEP-1932), which the SDK of the protocol does not have',
  'auth/dpop-nonce': 'an extension in draft (SEP-1932), which the SDK of the protocol does not have',
  'auth/enterprise-managed-authorization':
    'the extension needs the identity token of a company login, which no configuration has',
  'auth/wif-jwt-bearer': 'an extension in draft (SEP-1933), which the SDK of the protocol does not have',
  caching: 'the gateway has no prompts, which the scenario lists',
  'server-stateless': 'the scenario calls tools of the own server of the suite',
};

/** Server scenarios that need tools, resources, prompts or a log of the own server of the suite. */
export const OWN_TOOLS =
  /^(?:tools-call|resources-(?:read|templates|subscribe|unsubscribe)|prompts|elicitation|input-required|json-schema|completion|logging|sep-2640|tasks|http-custom)/u;
