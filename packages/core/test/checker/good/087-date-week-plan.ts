// style: chatty with comments
// Plan three meetings on the next working days, starting the day after today.
const { iso } = await tools.now();
const day = new Date(iso);
const links = [];

while (links.length < 3) {
  day.setUTCDate(day.getUTCDate() + 1);
  // Saturday is 6 and Sunday is 0: skip both.
  if (day.getUTCDay() % 6 === 0) continue;

  const start = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate(), 9));
  const end = new Date(+start + 30 * 60 * 1000);
  const event = await tools.calendar.createEvent({
    title: `Check-in ${links.length + 1}`,
    start: start.toISOString(),
    end: end.toISOString(),
    attendees: ['ada@acme.example'],
  });
  links.push(`${start.toISOString().slice(0, 10)} ${event.id}`);
}

return links;
