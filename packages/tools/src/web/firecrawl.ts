import { z } from 'zod';
import { failure } from '../failure.js';
import { visible } from '../files/path-rules.js';
import { callService, type Service } from './service.js';

const ScrapeSchema = z.object({
  success: z.literal(true),
  data: z.object({
    markdown: z.string(),
    metadata: z
      .object({
        title: z.union([z.string(), z.array(z.string())]).optional(),
        url: z.string().optional(),
        sourceURL: z.string().optional(),
        statusCode: z.number().optional(),
      })
      .optional(),
  }),
});

export interface ScrapedPage {
  readonly source: string;
  readonly title: string;
  readonly text: string;
}

/** The main content of a page as Markdown, from Firecrawl. Throws a ToolCallError. */
export async function scrapePage(service: Service, url: URL, signal: AbortSignal): Promise<ScrapedPage> {
  const body = { url: url.href, formats: ['markdown'], onlyMainContent: true };
  const answer = ScrapeSchema.safeParse(await callService(service, '/v2/scrape', body, signal));
  if (!answer.success)
    throw failure('unavailable', `Firecrawl returned no Markdown for ${visible(url.href)}. Read another page.`);
  const { markdown, metadata = {} } = answer.data.data;
  const { statusCode = 200, title = '' } = metadata;
  if (statusCode >= 400) throw pageStatus(url, statusCode);
  return {
    source: metadata.url ?? metadata.sourceURL ?? url.href,
    title: (typeof title === 'string' ? title : (title[0] ?? '')).slice(0, 500),
    text: markdown,
  };
}

/** The failure of a page with an error status. */
export function pageStatus(url: URL, status: number): Error {
  return failure(
    'http_status',
    `${visible(url.host)} answered with status ${status} for this URL. Check the URL, or read another page.`,
    { status },
  );
}
