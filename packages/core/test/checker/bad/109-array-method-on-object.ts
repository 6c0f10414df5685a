// line: 4
// about: callable
const { busy } = await tools.calendar.freeBusy({ emails: ['ada@acme.example'], date: '2024-05-06' });
return busy.map((slot) => slot.start);
