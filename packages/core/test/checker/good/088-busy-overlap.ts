// style: typed
const emails = ['ada@acme.example', 'bob@acme.example'];
const { busy } = await tools.calendar.freeBusy({ emails, date: '2024-05-06' });
const minutes = (iso: string) => Number(iso.slice(11, 13)) * 60 + Number(iso.slice(14, 16));
const slots: Array<[number, number]> = [];
for (const email of emails) {
  for (const { start, end } of busy[email]) slots.push([minutes(start), minutes(end)]);
}
slots.sort(([a], [b]) => a - b);
const merged = slots.reduce<Array<[number, number]>>((done, [from, to]) => {
  const last = done[done.length - 1];
  if (last && from <= last[1]) last[1] = Math.max(last[1], to);
  else done.push([from, to]);
  return done;
}, []);
return merged.map(([from, to]) => to - from);
