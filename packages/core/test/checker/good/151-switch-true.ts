// style: plain JavaScript
const reports = await Promise.all(['Oslo', 'Lima', 'Cairo'].map((city) => tools.getWeather({ city })));
return reports.map((r) => {
  switch (true) {
    case r.celsius < 10:
      return 'coat';
    case r.celsius < 25:
      return 'shirt';
    default:
      return 'hat';
  }
});
