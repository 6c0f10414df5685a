// line: 16
// about: describ
class Task {
  #done = false;
  constructor(public readonly title: string) {}
  finish(): void {
    this.#done = true;
  }
  describe(): string {
    return `${this.#done ? '[x]' : '[ ]'} ${this.title}`;
  }
}
const { issues } = await tools.github.listIssues({ repo: 'acme/app' });
const tasks = issues.map((issue) => new Task(issue.title));
tasks[0]?.finish();
return tasks.map((task) => task.describ());
