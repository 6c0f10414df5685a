// line: 9
// about: result
try {
  const result = await tools.unstable({ key: 'k', failures: 0 });
  console.log(result.value);
} catch (e) {
  console.error(e.message);
}
return result;
