// style: careful about limits
const budget = Math.min(context.sandbox.remainingToolBudget, 10);
const calls = context.sandbox.maxConcurrentToolCalls > 1 ? ['Oslo', 'Lima'] : ['Oslo'];
context.emitProgress('asking for the weather');
context.telemetry.emitProgress('still asking', 'info');
const reports = await Promise.all(calls.slice(0, budget).map((city) => tools.getWeather({ city })));
return { asked: reports.length > 0, id: typeof context.scriptId, host: context.anythingTheHostAdds ?? null };
