// line: 4
// about: formatDate
const { events } = await tools.calendar.listEvents({ from: '2024-05-06', to: '2024-05-07' });
const agenda = events.map((event) => `${formatDate(event.start)} ${event.title}`);
return agenda.join('\n');
