// line: 6
// about: moment
const { events } = await tools.calendar.listEvents({ from: '2024-05-06', to: '2024-05-12' });
const agenda = events.map((event) => ({
  title: event.title,
  at: moment(event.start).format('HH:mm'),
  minutes: (Date.parse(event.end) - Date.parse(event.start)) / 60_000,
}));
return agenda;
