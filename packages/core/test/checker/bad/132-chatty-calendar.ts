// line: 23
// about: startTime
// The user wants a 45 minute slot tomorrow afternoon with Ada and Bob.
const attendees = ['ada@acme.example', 'bob@acme.example'];
const date = '2024-05-07';

// First look at who is busy and when.
const { busy } = await tools.calendar.freeBusy({ emails: attendees, date });
const taken = Object.values(busy)
  .flat()
  .map((slot) => slot.start.slice(11, 16));

// Then try the usual hours one after the other.
const candidates = ['13:00', '13:30', '14:00', '15:30', '16:00'];
const free = candidates.find((time) => !taken.includes(time));
if (!free) {
  return { message: 'No free slot tomorrow afternoon' };
}

// Found one, so book it.
const event = await tools.calendar.createEvent({
  title: 'Catch up',
  startTime: `${date}T${free}:00.000Z`,
  end: `${date}T17:00:00.000Z`,
  attendees,
});
return { message: `Booked ${event.id} at ${free}` };
