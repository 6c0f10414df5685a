// line: 6
// about: maxLines
// Be careful here: the file may be missing, empty or not JSON at all.
async function readJson(filePath, fallback) {
  try {
    const file = await tools.readFile({ filePath, maxLines: 500 });
    if (!file || typeof file.content !== 'string' || file.content.trim() === '') {
      return fallback;
    }
    const parsed = JSON.parse(file.content);
    return parsed && typeof parsed === 'object' ? parsed : fallback;
  } catch (err) {
    console.warn('could not read', filePath, err && err.message);
    return fallback;
  }
}

const app = await readJson('config/app.json', {});
const pkg = await readJson('package.json', {});
return {
  port: app?.port ?? 0,
  name: pkg?.name ?? 'unknown',
  hosts: Array.isArray(app?.hosts) ? app.hosts.length : 0,
};
