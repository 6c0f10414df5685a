// style: class-heavy
class Pages {
  constructor(private readonly pageSize = 3) {}
  async *[Symbol.asyncIterator]() {
    for (let page = 1, pages = 1; page <= pages; page++) {
      const { orders, pageCount } = await tools.listOrders({ page, pageSize: this.pageSize });
      pages = pageCount;
      yield orders;
    }
  }
}
let count = 0;
const firsts: string[] = [];
for await (const orders of new Pages()) {
  count += orders.length;
  firsts.push(orders[0].id);
}
return { count, firsts };
