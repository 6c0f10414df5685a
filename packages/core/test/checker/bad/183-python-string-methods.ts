// line: 4
// about: strip
const { stdout } = await tools.runCommand({ command: ['echo', 'one', 'two'] });
const words = stdout.strip().split(' ');
const upper = words.map((word) => word.toUpperCase());
return { upper, count: upper.length };
