// style: class-heavy
class NotFoundError extends Error {
  constructor(resource, id) {
    super(`${resource} ${id} was not found`);
    this.name = 'NotFoundError';
    this.resource = resource;
    this.id = id;
  }
}

async function loadUser(id) {
  try {
    return await tools.get_user({ id });
  } catch (e) {
    throw new NotFoundError('user', id);
  }
}

try {
  await loadUser(1);
  await loadUser(42);
} catch (e) {
  if (e instanceof NotFoundError) return { name: e.name, resource: e.resource, id: e.id, message: e.message };
  throw e;
}
return 'unreachable';
