// style: reflective
const calls = [];
const traced = new Proxy(
  {},
  {
    get: (_, name) => async (args) => {
      calls.push(String(name));
      return Reflect.get(tools, name)(args);
    },
  },
);
const w = await traced.getWeather({ city: 'Lima' });
const { result } = await traced.calculate({ expression: `${w.celsius} + 1` });
return { calls, result };
