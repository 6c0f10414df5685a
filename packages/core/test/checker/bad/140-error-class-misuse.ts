// line: 26
// about: statusCode
class HttpError extends Error {
  constructor(
    public readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = 'HttpError';
  }
  get retryable(): boolean {
    return this.status >= 500;
  }
}

async function get(url: string) {
  const page = await tools.fetchPage({ url });
  if (page.status !== 200) throw new HttpError(page.status, page.body.message);
  return page.body;
}

try {
  return (await get('ftp://nowhere')).items.length;
} catch (error) {
  if (error instanceof HttpError) {
    return { failed: true, code: error.statusCode, retryable: error.retryable };
  }
  throw error;
}
