// A reporter of Vitest: the names of the failed tests are the last lines, because long errors hide them above.
export default class FailedTests {
  onTestRunEnd(modules, errors) {
    const failures = modules.flatMap((module) => failuresOf(module));
    if (failures.length + errors.length === 0) return;
    console.log(`\nFailed: ${failures.length} tests or files, ${errors.length} errors outside of tests`);
    for (const failure of failures) console.log(`  ${failure}`);
    for (const { message } of errors) console.log(`  ${String(message).split('\n')[0]}`);
  }
}

function failuresOf(module) {
  const tests = [...module.children.allTests('failed')].map((test) => `${module.relativeModuleId} > ${test.fullName}`);
  return tests.length === 0 && module.state() === 'failed' ? [module.relativeModuleId] : tests;
}
