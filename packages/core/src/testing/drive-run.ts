import type {
  SandboxCall,
  SandboxEnd,
  SandboxJob,
  SandboxLimits,
  SandboxRun,
  SandboxRuntime,
  SandboxSegment,
  Settlement,
} from '../protocol/index.js';

export const TEST_LIMITS: SandboxLimits = {
  computeMs: 2_000,
  memoryMb: 64,
  maxStackBytes: 524_288,
  maxReturnBytes: 131_072,
  maxToolInputBytes: 1_048_576,
  maxBuiltinCalls: 500,
  maxCalls: 1_000,
  maxLogEvents: 200,
  maxLogBytes: 262_144,
  maxOutputBytes: 131_072,
  maxProgressEvents: 50,
  queueWaitMs: 60_000,
};

/** The host's answer to a call: a value, or a thrown `{ code, message, data }`. */
export type TestHost = (name: string, args: unknown, call: SandboxCall) => unknown;

export interface DriveOptions {
  host?: TestHost | undefined;
  limits?: Partial<SandboxLimits> | undefined;
  job?: Partial<SandboxJob> | undefined;
  wallMs?: number | undefined;
  onRun?: ((run: SandboxRun) => void) | undefined;
}

export interface DrivenRun {
  end: SandboxEnd;
  segments: SandboxSegment[];
}

/** Wraps a body in the form of a compiled script: see `SandboxJob.javascript`. */
export function asScript(body: string): string {
  return `(async()=>{"use strict";\n${body}\n})`;
}

let jobs = 0;

/** Runs a script body to its end and answers its calls. All answers that are ready are delivered in one batch. */
export function driveRun(runtime: SandboxRuntime, body: string, options: DriveOptions = {}): Promise<DrivenRun> {
  const { host = (_name, args) => args, wallMs = 60_000 } = options;
  const clockMs = options.job?.clockMs ?? 1_700_000_000_000;
  const javascript = options.job?.javascript ?? asScript(body);
  return new Promise((resolve) => {
    const segments: SandboxSegment[] = [];
    let ready: Settlement[] = [];
    let guestRuns = true;
    const deliver = () => {
      if (guestRuns || ready.length === 0) return;
      const batch = ready;
      ready = [];
      guestRuns = true;
      run.settle(batch, clockMs, wallMs);
    };
    const answer = async (call: SandboxCall) => {
      const settlement = await hostSettlement(call, host);
      ready.push(settlement);
      queueMicrotask(deliver);
    };
    const run = runtime.run(
      {
        runId: `test-${jobs++}`,
        sha256: javascript,
        toolNames: ['echo', 'fail', 'space.inner'],
        contextJson: '{}',
        spawn: false,
        seed: [1, 2, 3, 4],
        principal: undefined,
        ...options.job,
        javascript,
        clockMs,
        wallMs,
        limits: { ...TEST_LIMITS, ...options.limits },
      },
      {
        onStart: () => {},
        onSegment: (segment) => {
          segments.push(segment);
          guestRuns = false;
          if (segment.end !== undefined) resolve({ end: segment.end, segments });
          else {
            for (const call of segment.calls) void answer(call);
            deliver();
          }
        },
      },
    );
    options.onRun?.(run);
  });
}

async function hostSettlement(call: SandboxCall, host: TestHost): Promise<Settlement> {
  try {
    const value = await host(call.name, call.argsJson === '' ? undefined : JSON.parse(call.argsJson), call);
    return { callIndex: call.callIndex, ok: true, json: value === undefined ? '' : JSON.stringify(value) };
  } catch (error) {
    const {
      code = 'ToolExecutionError',
      message = String(error),
      data,
      stack,
    } = error as {
      code?: string | undefined;
      message?: string | undefined;
      data?: unknown;
      stack?: string | undefined;
    };
    const isOwn = !(error instanceof Error) && stack !== undefined;
    const optional = { data, ...(isOwn && { stack }) };
    return { callIndex: call.callIndex, ok: false, error: { code, message, ...optional } };
  }
}

/** The value of a run that returned. Throws a description of any other end. */
export function returnedValue({ end }: DrivenRun): unknown {
  if (end.type !== 'returned')
    throw new Error(
      `The script must return a value, but the runtime ended it with ${JSON.stringify(end)}. Compare this end with the script.`,
    );
  return end.json === undefined ? undefined : JSON.parse(end.json);
}
