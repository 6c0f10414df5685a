// style: reflective, typed
const name = 'now' as keyof typeof tools;
const time = await (tools[name] as () => Promise<{ iso: string }>)();
const calls: Array<[string, Record<string, unknown>]> = [
  ['getWeather', { city: 'Quito' }],
  ['calculate', { expression: '6 * 7' }],
];
const answers = [];
for (const [tool, args] of calls) answers.push(await (tools as any)[tool](args));
return { day: time.iso.slice(0, 10), celsius: answers[0].celsius, product: answers[1].result };
