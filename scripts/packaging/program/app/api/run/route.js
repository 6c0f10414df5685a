import { runBoth } from '../../../program.mjs';

export const dynamic = 'force-dynamic';

export async function GET() {
  try {
    return new Response(await runBoth());
  } catch (error) {
    return new Response(`${error.name}: ${error.message}`);
  }
}
