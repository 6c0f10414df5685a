// style: functional
const pipe = (...steps) => (input) => steps.reduce((value, step) => (value instanceof Promise ? value.then(step) : step(value)), input);
const shout = pipe(
  (filePath) => tools.readFile({ filePath }),
  (file) => file.content,
  (content) => content.split('\n')[0],
  (line) => line.replace('# ', '').toUpperCase(),
);
return await shout('README.md');
