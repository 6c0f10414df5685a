import { GatewayClient } from './gateway-client.mjs';

/** Asks the gateway for its instructions, and for the description of each tool by name. */
export async function gatewayOffer(place) {
  const client = await GatewayClient.connect(place);
  try {
    const { tools } = await client.request('tools/list');
    const { instructions } = client.offer;
    return { instructions, tools: new Map(tools.map(({ name, description }) => [name, description])) };
  } finally {
    await client.close();
  }
}
