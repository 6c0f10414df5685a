import type { LoadImage } from '@toolscript/core/history';
import type { McpServers } from '@toolscript/mcp';

/** Returns a function that loads images from files in the workspace, and from results of MCP servers. */
export async function imageLoader(workspace: string, servers: () => McpServers | undefined): Promise<LoadImage> {
  const { createWorkspace, loadImage } = await import('@toolscript/tools');
  const opened = createWorkspace({ roots: workspace });
  return (image) => (image.path === undefined && servers()?.loadImage(image)) || loadImage(opened, image);
}
