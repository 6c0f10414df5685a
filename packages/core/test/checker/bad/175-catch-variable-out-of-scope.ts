// line: 11
// about: error
let attempts = 0;
let value = '';

while (attempts < 3 && value === '') {
  attempts += 1;
  try {
    value = (await tools.unstable({ key: 'omega', failures: 1 })).value;
  } catch (err) {
    console.warn(`attempt ${attempts}: ${error.message}`);
  }
}

return { value, attempts };
