/**
 * Runs by their keys. Behind a plain `Map` whose entries come and go quickly, V8 leaves tables in the old
 * generation that keep what they held until the next full collection: nearly a third of what short scripts
 * make would outlive them. Here such a table holds emptied boxes.
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
