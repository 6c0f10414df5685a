// style: plain JavaScript
const { events } = await tools.calendar.listEvents({ from: '2024-05-06', to: '2024-05-07' });
const minutes = events.map((e) => (new Date(e.end) - new Date(e.start)) / 60000);
const longest = events[minutes.indexOf(Math.max(...minutes))];
events.slice().sort((a, b) => new Date(b.start) - new Date(a.start));
return { minutes, longest: longest.title };
