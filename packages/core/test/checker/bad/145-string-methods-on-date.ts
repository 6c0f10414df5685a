// line: 8
// about: split
const { events } = await tools.calendar.listEvents({ from: '2024-05-06', to: '2024-05-10' });

const days = new Map();
for (const event of events) {
  const start = new Date(event.start);
  const day = start.split('T')[0];
  if (!days.has(day)) days.set(day, []);
  days.get(day).push(event.title);
}

return [...days].map(([day, titles]) => `${day}: ${titles.join(', ')}`);
