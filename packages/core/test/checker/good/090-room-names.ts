// style: defensive
const { events } = await tools.calendar.listEvents({ from: '2024-05-01', to: '2024-05-31' });
const rooms = new Set();
for (const event of events ?? []) {
  if (event && 'location' in event && typeof event.location === 'string') rooms.add(event.location.trim());
}
return Array.from(rooms).sort();
