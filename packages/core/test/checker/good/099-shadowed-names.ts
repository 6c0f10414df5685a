// style: terse, with shadowed names
const name = 'outer';
const text = await tools.readFile({ filePath: 'data/scores.txt' });
const scores = text.content
  .trim()
  .split('\n')
  .map((line) => {
    const [name, score] = line.split(' ');
    return { name, score: +score };
  });
{
  const name = scores[0].name;
  console.log(name);
}
const result = ((context) => context.length)(scores);
return { name, result };
