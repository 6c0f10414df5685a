// style: over-typed TypeScript
function pick<T extends object, K extends keyof T>(source: T, ...keys: K[]): Pick<T, K>;
function pick(source: any, ...keys: string[]): any {
  return Object.fromEntries(keys.map((key) => [key, source[key]]));
}
class Box<T> {
  constructor(public readonly value: T) {}
  map<U>(change: (value: T) => U): Box<U> {
    return new Box(change(this.value));
  }
}
const order = await tools.getOrder({ orderId: 'o4' });
const boxed = new Box(order).map((o) => pick(o, 'id', 'total')).map(({ id, total }) => `${id}=${total}`);
return { boxed: boxed.value, discount: order.discount?.percent ?? 0 };
