// style: functional
const { series } = await tools.metrics.query({ name: 'cpu', minutes: 6 });
const peak = series
  .flatMap(({ labels, points }) => points.map(([time, value]) => ({ region: labels.region, time, value })))
  .sort((a, b) => b.value - a.value || a.time - b.time)[0];
const averages = Object.fromEntries(
  series.map((s) => [s.labels.region, +(s.points.reduce((sum, p) => sum + p[1], 0) / s.points.length).toFixed(2)]),
);
return { peak, averages };
