// line: 7
// about: wind_speed
class Station {
  constructor(private readonly city: string) {}
  async wind(): Promise<number> {
    const report = await tools.getWeather({ city: this.city });
    return report.wind.wind_speed;
  }
}
return await new Station('Oslo').wind();
