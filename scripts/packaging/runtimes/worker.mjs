// A Worker: it answers each request with the laws that hold there.
import { heldLaws } from './stream.mjs';

export default {
  async fetch(request) {
    const { searchParams } = new URL(request.url);
    return new Response(await heldLaws({ baseUrl: searchParams.get('baseUrl'), token: searchParams.get('token') }));
  },
};
