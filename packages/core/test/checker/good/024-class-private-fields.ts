// style: class-heavy
class Cache {
  #entries = new Map<string, string>();
  #hits = 0;
  #misses = 0;

  async read(filePath: string): Promise<string> {
    const known = this.#entries.get(filePath);
    if (known !== undefined) {
      this.#hits += 1;
      return known;
    }
    this.#misses += 1;
    const { content } = await tools.readFile({ filePath });
    this.#entries.set(filePath, content);
    return content;
  }

  get ratio(): string {
    return `${this.#hits}/${this.#hits + this.#misses}`;
  }
}

const cache = new Cache();
for (const path of ['README.md', 'src/math.ts', 'README.md', 'README.md']) await cache.read(path);
return cache.ratio;
