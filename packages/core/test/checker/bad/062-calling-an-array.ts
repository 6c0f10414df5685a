// line: 6
// about: call
const steps = ['build', 'test'];
const results = [];
for (let i = 0; i < steps.length; i++) {
  results.push(steps(i).toUpperCase());
}
return results;
