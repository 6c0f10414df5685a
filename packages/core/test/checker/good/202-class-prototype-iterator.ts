// style: class prototype iterator
class Bag { items = [1, 2]; } Bag.prototype[Symbol.iterator] = function* () { yield* this.items; }; return [...new Bag()];
