// style: old-style JavaScript
var self = { results: [], errors: 0 };
function fetchOne(city, done) {
  return tools.getWeather({ city: city }).then(
    function (report) {
      done(null, report);
    },
    function (err) {
      done(err);
    },
  );
}
function collect(err, report) {
  if (err) {
    self.errors++;
    return;
  }
  self.results.push(report.city + ':' + report.celsius);
}
await fetchOne('Oslo', collect);
await fetchOne('Narnia', collect);
await fetchOne('Cairo', collect);
return self;
