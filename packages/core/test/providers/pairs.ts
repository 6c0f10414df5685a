type Json = Record<string, unknown>;

/** The problems of calls without exactly one result, and of results without a call. */
export function unpaired(value: unknown): string[] {
  const calls: unknown[] = [];
  const results: unknown[] = [];
  const visit = (part: unknown): void => {
    if (Array.isArray(part)) return part.forEach(visit);
    if (typeof part !== 'object' || part === null) return;
    const {
      type,
      id,
      call_id: callId,
      tool_call_id: toolCallId,
      tool_use_id: toolUseId,
      tool_calls: list,
    } = part as Json;
    const kind = String(type);
    if (
      /^(function|custom_tool|shell|tool_search|local_shell|apply_patch|computer)_call$/u.test(kind) ||
      (kind === 'program' && 'code' in part)
    )
      if (callId !== null) calls.push(callId);
    if (kind.endsWith('tool_use')) calls.push(id);
    if (Array.isArray(list)) calls.push(...(list as Json[]).map((call) => call.id));
    if (kind.endsWith('_output') && callId !== undefined && callId !== null) results.push(callId);
    if (toolCallId !== undefined) results.push(toolCallId);
    if (toolUseId !== undefined) results.push(toolUseId);
    Object.values(part).forEach(visit);
  };
  visit(value);
  return JSON.stringify(calls.map(String).toSorted()) === JSON.stringify(results.map(String).toSorted())
    ? []
    : [`calls ${JSON.stringify(calls)}, results ${JSON.stringify(results)}`];
}
