// line: 12
// about: quantityOnHand
// Keeps the stock of the skus that were asked for, and says what must be ordered.
class StockKeeper {
  readonly #levels = new Map<string, number>();

  constructor(private readonly minimum: number) {}

  async load(skus: readonly string[]): Promise<this> {
    const inventory = await tools.getInventory({ skus: [...skus] });
    for (const sku of skus) {
      this.#levels.set(sku, inventory.quantityOnHand[sku] ?? 0);
    }
    return this;
  }

  get short(): string[] {
    return [...this.#levels].filter(([, level]) => level < this.minimum).map(([sku]) => sku);
  }
}

const keeper = await new StockKeeper(5).load(['pen', 'ink', 'desk']);
text(`Order: ${keeper.short.join(', ')}`);
return keeper.short;
