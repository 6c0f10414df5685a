/** The scenarios that fail, each with the reason. */
export const FAILURES = {
  'auth/authorization-server-migration': 'the user names the login service, and no other one is used',
  'auth/client-credentials-jwt': 'private keys as credentials are not supported',
  'auth/dpop': 'DPoP is not supported',
  'auth/dpop-nonce': 'DPoP is not supported',
  'auth/enterprise-managed-authorization': 'enterprise-managed authorization is not supported',
  'auth/wif-jwt-bearer': 'workload identities are not supported',
  caching: 'the gateway has no prompts, which the scenario lists',
  'server-stateless': 'the scenario calls tools of the own server of the suite',
};

/** Server scenarios that need tools, resources, prompts or a log of the own server of the suite. */
export const OWN_TOOLS =
  /^(?:tools-call|resources-(?:read|templates|subscribe|unsubscribe)|prompts|elicitation|input-required|json-schema|completion|logging|sep-2640|tasks|http-custom)/u;
