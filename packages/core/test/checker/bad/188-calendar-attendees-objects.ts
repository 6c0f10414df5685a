// line: 11
// about: string[]
const team = await tools.listUsers({ role: 'member', active: true });
const start = '2024-05-08T10:00:00.000Z';
const end = '2024-05-08T10:30:00.000Z';

const { id } = await tools.calendar.createEvent({
  title: 'Team sync',
  start,
  end,
  attendees: team.map((user) => ({ email: user.email })),
});
return id;
