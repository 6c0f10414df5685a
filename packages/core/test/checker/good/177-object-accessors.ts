// style: plain JavaScript, accessors
const cart = {
  lines: [],
  get total() {
    return this.lines.reduce((sum, line) => sum + line.quantity * line.unitPrice, 0);
  },
  set discount(percent) {
    this.factor = 1 - percent / 100;
  },
  toJSON() {
    return { lines: this.lines.length, total: this.total, due: this.total * (this.factor ?? 1) };
  },
};
const order = await tools.getOrder({ orderId: 'o4' });
cart.lines = order.lines;
cart.discount = order.discount.percent;
return JSON.parse(JSON.stringify(cart));
