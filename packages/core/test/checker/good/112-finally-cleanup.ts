// style: careful about errors
const filePath = 'tmp/lock';
let released = false;
const work = async () => {
  await tools.writeFile({ filePath, content: 'locked' });
  try {
    await tools.unstable({ key: 'locked work', failures: 1 });
    return 'worked';
  } finally {
    released = (await tools.deleteFile({ filePath })).deleted;
  }
};
const first = await work().catch((e) => e.message);
const second = await work();
return { first, second, released, left: (await tools.stat({ filePath })).exists };
