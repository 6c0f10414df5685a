// line: 4
// about: content
const stamp = (await tools.now()).iso;
const { created } = await tools.writeFile({ filePath: `notes/${stamp.slice(0, 10)}.md` });
return created;
