// line: 12
// about: title
class IssueBook {
  constructor(private readonly repo: string) {}

  async get(number: number) {
    return tools.github.getIssue({ repo: this.repo, number });
  }

  async describe(number: number): Promise<string> {
    const issue = this.get(number);
    return `#${number} ${issue.title}`;
  }
}

const book = new IssueBook('acme/app');
return Promise.all([1, 2, 3].map((number) => book.describe(number)));
