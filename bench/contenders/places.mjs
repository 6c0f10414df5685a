/** Admits at most `size` holders at a time; the others wait in order. */
export class Places {
  #free;
  #line = [];

  constructor(size) {
    this.#free = size;
  }

  async hold(work) {
    if (this.#free > 0) this.#free--;
    else await new Promise((resolve) => this.#line.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#line.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
