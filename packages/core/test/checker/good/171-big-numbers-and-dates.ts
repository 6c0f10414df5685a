// style: terse
const { epochMs } = await tools.now();
const ns = BigInt(epochMs) * 1_000_000n;
const days = Math.trunc(epochMs / 864e5);
return { ns: ns.toString(), days, parts: new Date(epochMs).toISOString().split(/[-T:.Z]/).slice(0, 3).map(Number) };
