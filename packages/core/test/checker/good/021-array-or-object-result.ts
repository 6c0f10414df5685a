// style: defensive
const result = await tools.listUsers({ active: true });
// Some servers wrap the list, so look in both places.
const list = Array.isArray(result) ? result : (result as any).users ?? (result as any).items ?? [];
return list.map((u: any) => (u && u.email ? String(u.email).toLowerCase() : 'unknown'));
