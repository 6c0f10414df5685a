// line: 10
// about: await
class Loader {
  constructor(repo) {
    this.repo = repo;
    this.pages = [];
  }

  load(page = 1) {
    const result = await tools.github.listIssues({ repo: this.repo, page });
    this.pages.push(result.issues);
    return result.nextPage ? this.load(result.nextPage) : this.pages.flat();
  }
}

const loader = new Loader('acme/app');
const issues = await loader.load();
return issues.length;
