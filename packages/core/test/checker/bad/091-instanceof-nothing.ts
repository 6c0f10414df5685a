// line: 8
// about: HttpError
let last = '';
for (let attempt = 0; attempt < 3; attempt++) {
  try {
    return (await tools.unstable({ key: 'z', failures: 1 })).value;
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    last = error.message;
  }
}
return last;
