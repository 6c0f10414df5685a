// line: 20
// about: callable
class Progress {
  #done = 0;
  constructor(readonly total: number) {}
  step(): void {
    this.#done += 1;
  }
  get percent(): number {
    return Math.round((this.#done / this.total) * 100);
  }
}

const cities = ['Oslo', 'Lima', 'Cairo', 'Quito'];
const progress = new Progress(cities.length);
const seen: string[] = [];
for (const city of cities) {
  const { condition } = await tools.getWeather({ city });
  progress.step();
  seen.push(`${city} ${condition} ${progress.percent()}%`);
}
return seen;
