// style: over-typed TypeScript
enum Severity {
  Low = 'low',
  High = 'high',
}

type Rule = { test: (line: string) => boolean; severity: Severity };

const rules = [
  { test: (line: string) => line.includes('WARN'), severity: Severity.Low },
  { test: (line: string) => line.includes('ERROR'), severity: Severity.High },
] as const satisfies readonly Rule[];

const { content } = await tools.readFile({ filePath: 'logs/app.log' });
const found: Array<{ line: number; severity: Severity }> = [];
content.split('\n').forEach((line, index) => {
  const rule = rules.find((candidate) => candidate.test(line));
  if (rule !== undefined) found.push({ line: index + 1, severity: rule.severity });
});
return found;
