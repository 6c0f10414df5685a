// line: 7
// about: ToolExecutionErr
try {
  await tools.getOrder({ orderId: 'none' });
  return 'found';
} catch (e) {
  if (e instanceof ToolExecutionErr) return 'missing';
  throw e;
}
