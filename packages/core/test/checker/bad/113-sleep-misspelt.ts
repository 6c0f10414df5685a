// line: 7
// about: delay
for (let attempt = 1; attempt <= 3; attempt++) {
  try {
    return (await tools.unstable({ key: 'q', failures: 1 })).value;
  } catch {
    await delay(10 * attempt);
  }
}
return null;
