// style: functional
const { events } = await tools.calendar.listEvents({ from: '2024-05-01', to: '2024-05-31' });
const responses = events
  .flatMap((e) => e.attendees)
  .reduce((acc, { email, response }) => {
    const key = response ?? 'unknown';
    acc[email] ??= {};
    acc[email][key] = (acc[email][key] ?? 0) + 1;
    return acc;
  }, {} as any);
return responses;
