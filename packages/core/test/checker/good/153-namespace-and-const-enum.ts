// style: over-typed TypeScript
namespace Units {
  export const enum Scale {
    Celsius,
    Fahrenheit,
  }
  export const convert = (celsius: number, to: Scale) => (to === Scale.Fahrenheit ? celsius * 1.8 + 32 : celsius);
}
const { celsius } = await tools.getWeather({ city: 'Cairo' });
return [Units.convert(celsius, Units.Scale.Celsius), Math.round(Units.convert(celsius, Units.Scale.Fahrenheit))];
