// style: typed, any where it helps
const out: string[] = [];
for (const id of [1, 99, 2]) {
  try {
    const user = await tools.get_user({ id });
    out.push(user.name);
  } catch (err: any) {
    out.push(`${err.code}: ${err.message}`);
  }
}
return out;
