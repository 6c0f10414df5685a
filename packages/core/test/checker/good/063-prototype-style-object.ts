// style: old-style JavaScript
function Counter() {
  this.counts = {};
}
Counter.prototype.add = function (key) {
  this.counts[key] = (this.counts[key] || 0) + 1;
  return this;
};
Counter.prototype.top = function () {
  var counts = this.counts;
  return Object.keys(counts).sort(function (a, b) {
    return counts[b] - counts[a] || (a < b ? -1 : 1);
  })[0];
};
const counter = new Counter();
const { issues } = await tools.github.listIssues({ repo: 'acme/app', state: 'all', perPage: 50 });
issues.forEach((issue) => issue.labels.forEach((label) => counter.add(label)));
return { top: counter.top(), counts: counter.counts };
