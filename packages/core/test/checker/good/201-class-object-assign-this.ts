// style: class object assign this
class Item {
  constructor(data) { Object.assign(this, data); }
  label() { return `${this.title} (${this.number})`; }
}
const { issues } = await tools.github.listIssues({ repo: 'acme/app' });
return issues.map((i) => new Item(i).label());
