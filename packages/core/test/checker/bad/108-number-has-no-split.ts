// line: 4
// about: split
const { epochMs } = await tools.now();
const [seconds] = epochMs.split('.');
return seconds;
