import { createHash } from 'node:crypto';
import { PrivateJsonFile } from '@toolscript/core/internal';
import type { GatewayOffer } from '@toolscript/mcp';
import { z } from 'zod';
import { dataFolder, userFolder } from '../configuration/locations.js';
import type { Settings } from '../configuration/settings.js';
import { ownVersion } from '../own-version.js';
import { readMcpConfiguration } from './mcp-files.js';

const OfferSchema = z.strictObject({
  description: z.string().max(2_000),
  instructions: z.string().max(2_000),
  namespaces: z.array(z.string()),
});

const FileSchema = z.strictObject({
  version: z.literal(1),
  offers: z.array(z.strictObject({ of: z.string(), offer: OfferSchema })),
});

/** Maximum number of offers, with the newest last. */
const MAX_OFFERS = 20;

/**
 * The texts that the last gateway with the same settings and servers showed to its clients. A gateway that knows it answers
 * without the stored lists of its servers, which can have megabytes.
 */
export class StoredOffer {
  readonly #file: PrivateJsonFile<typeof FileSchema>;
  readonly #of: string;
  #known: GatewayOffer | undefined;

  private constructor(of: string) {
    this.#of = of;
    this.#file = new PrivateJsonFile(dataFolder(process.env).mcpOffersFile, {
      schema: FileSchema,
      empty: { version: 1, offers: [] },
      advice: 'Delete it. It is written again.',
    });
  }

  /** Throws a UsageError for a file of servers that cannot be read. */
  static async of({ cwd, ...settings }: Settings, coding: boolean): Promise<StoredOffer> {
    const place = { user: userFolder(process.env), workspace: cwd, file: settings.mcpConfig, warn: () => {} };
    const configuration = await readMcpConfiguration(place);
    const parts = JSON.stringify([ownVersion(), settings, coding, configuration]);
    return new StoredOffer(createHash('sha256').update(parts).digest('hex'));
  }

  /** Undefined if there is none, or if its file cannot be read: it is only a copy. */
  async read(): Promise<GatewayOffer | undefined> {
    const content = await this.#file.read().catch(() => undefined);
    this.#known = content?.offers.find(({ of }) => of === this.#of)?.offer;
    return this.#known;
  }

  /** Rejects if the file cannot be read or written. */
  async write(offer: GatewayOffer): Promise<void> {
    if (JSON.stringify(offer) === JSON.stringify(this.#known)) return;
    this.#known = offer;
    await this.#file.update(({ version, offers }) => {
      const others = offers.filter(({ of }) => of !== this.#of);
      const { namespaces, ...texts } = offer;
      const own = { of: this.#of, offer: { ...texts, namespaces: [...namespaces] } };
      return { version, offers: [...others, own].slice(-MAX_OFFERS) };
    });
  }
}
