import type { GateCall } from '../../protocol/approval-gate.js';
import type { ApprovalChange, ApprovalRequest } from '../../protocol/approvals.js';
import type { CoveredPart } from '../../protocol/covered-part.js';
import { callScope } from '../../protocol/run-context.js';
import type { Tool } from '../../protocol/tools.js';
import { sha256 } from '../../text/crypto.js';
import { renderCall } from './call-rendering.js';

/*
 * An approval covers what was seen: the text that was shown, the arguments, the definition of the tool, and every text
 * to which the arguments refer. The parts are compared again immediately before the call is executed.
 */

const SHOWN = 'the text shown';
const ARGUMENTS = 'the arguments';
/** Maximum characters of a changed part in a request. */
const MAX_SHOWN_CHANGE = 2_000;
const REFERENCES_TIMEOUT_MS = 5_000;

/** Returns the parts that an approval of the call covers. `rendered`: the text that the user sees. Never rejects. */
export async function coveredParts(call: GateCall, rendered: string): Promise<CoveredPart[]> {
  const { tool, inputJson } = call;
  const parts = [coveredPart(SHOWN, rendered), coveredPart(ARGUMENTS, inputJson), ...definitionParts(tool)];
  return tool.references === undefined ? parts : [...parts, ...(await referencedParts(call, tool.references))];
}

function definitionParts({ name, effect, inputSchema, source }: Tool): CoveredPart[] {
  return [
    coveredPart('the tool', name),
    coveredPart('the effect', effect),
    coveredPart('the schema of the arguments', JSON.stringify(inputSchema)),
    ...(source === undefined ? [] : [coveredPart('the source of the tool', source)]),
  ];
}

/** The digest of a tool's definition, to which a remembered decision is bound. */
export function definitionDigest(tool: Tool): string {
  return partsDigest(definitionParts(tool));
}

export function partsDigest(parts: readonly CoveredPart[]): string {
  return sha256(JSON.stringify(parts.map(({ what, sha256: hash }) => [what, hash])));
}

/** Returns the parts of an approved call that have changed since the request. Never rejects. */
export async function changesSince(approved: ApprovalRequest, call: GateCall): Promise<ApprovalChange[]> {
  const isEdited = !approved.covers.some(({ what }) => what === ARGUMENTS);
  const rendered = isEdited ? '' : await renderCall(call);
  const parts = isEdited ? definitionParts(call.tool) : await coveredParts(call, rendered);
  const before = hashes(approved.covers);
  const after = hashes(parts);
  const texts = readableParts(approved, call, rendered);
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((what) => before.get(what) !== after.get(what))
    .map((what) => {
      const [old, present] = texts[what] ?? [before.get(what) ?? 'none', after.get(what) ?? 'none'];
      return { what, before: old.slice(0, MAX_SHOWN_CHANGE), after: present.slice(0, MAX_SHOWN_CHANGE) };
    });
}

function hashes(parts: readonly CoveredPart[]): ReadonlyMap<string, string> {
  return new Map(parts.map(({ what, sha256: hash }) => [what, hash]));
}

/** The request of a user who edited the arguments: the decision covers the tool, and not what was shown. */
export function editedRequest(request: ApprovalRequest, tool: Tool): ApprovalRequest {
  const definition = new Set(definitionParts(tool).map(({ what }) => what));
  return { ...request, covers: request.covers.filter(({ what }) => definition.has(what)) };
}

/** The texts of the parts that a user can read, before and after; for the other parts, their hashes are shown. */
function readableParts(
  approved: ApprovalRequest,
  { tool, inputJson }: GateCall,
  rendered: string,
): Readonly<Record<string, readonly [string, string]>> {
  return {
    [SHOWN]: [approved.rendered, rendered],
    [ARGUMENTS]: [approved.inputJson, inputJson],
    'the effect': [approved.effect, tool.effect],
  };
}

/** The SHA-256 of each text to which the arguments refer. A text that cannot be read counts as an empty one. */
async function referencedParts(
  { input, signal, context }: GateCall,
  references: NonNullable<Tool['references']>,
): Promise<CoveredPart[]> {
  let timer: NodeJS.Timeout | undefined;
  const givenUp = new Promise<Readonly<Record<string, string>>>((resolve) => {
    timer = setTimeout(resolve, REFERENCES_TIMEOUT_MS, {});
    signal.addEventListener('abort', () => resolve({}), { once: true });
  });
  try {
    const texts = await Promise.race([references(input as never, callScope(context)), givenUp]);
    return Object.entries(texts).map(([name, text]) => coveredPart(name, text));
  } catch {
    return [coveredPart('the texts referred to', '')];
  } finally {
    clearTimeout(timer);
  }
}

function coveredPart(what: string, text: string): CoveredPart {
  return { what, sha256: sha256(text) };
}
