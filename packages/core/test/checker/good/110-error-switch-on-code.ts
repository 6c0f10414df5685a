// style: careful about errors
async function outcome(work) {
  try {
    return await work();
  } catch (e) {
    switch (e.code ?? e.name) {
      case 'ToolExecutionError':
        return 'tool failed';
      case 'ToolNotFoundError':
        return 'no such tool';
      case 'TypeError':
        return 'bug';
      default:
        return 'other ' + e;
    }
  }
}
return [
  await outcome(() => tools.getOrder({ orderId: 'zzz' })),
  await outcome(() => (tools as any).noSuchTool({})),
  await outcome(() => null.x),
  await outcome(() => Promise.reject('plain text')),
];
