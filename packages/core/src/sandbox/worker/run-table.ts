/**
 * Runs by their keys. A plain `Map` whose entries come and go quickly leaves old tables in V8's old generation, which
 * retain their entries until the next full collection: nearly a third of the garbage of short scripts. In this class
 * such a table retains only empty boxes.
 */
export class RunTable<Run extends { readonly key: number }> {
  readonly #boxes = new Map<number, { run: Run | undefined }>();

  get size(): number {
    return this.#boxes.size;
  }

  add(run: Run): void {
    this.#boxes.set(run.key, { run });
  }

  get(key: number): Run | undefined {
    return this.#boxes.get(key)?.run;
  }

  delete(key: number): void {
    const box = this.#boxes.get(key);
    if (box === undefined) return;
    box.run = undefined;
    this.#boxes.delete(key);
  }

  all(): Run[] {
    return [...this.#boxes.values()].flatMap(({ run }) => run ?? []);
  }
}
