import { join } from 'node:path';
import type { ResultShapes } from '@toolscript/core';
import { mergeKeptShapes, PrivateJsonFile } from '@toolscript/core/internal';
import { z } from 'zod';
import type { ServerToStart } from '../configuration/server-config.js';
import { hash, serverFingerprint, toolFingerprint } from '../trust/fingerprint.js';
import type { ToolDefinition } from '../tools/definition.js';

/** The shapes of results of one server's tools, as JSON, by an id of the tool's version and of the principal. */
export type KeptShapes = Readonly<Record<string, unknown>>;

/**
 * Stores what the results of each server's tools look like, so that scripts have types for tools that declare none. A
 * shape contains kinds of values and names of members, and no value.
 */
export interface ShapeStore {
  /** The shapes of this program or address. */
  read(server: ServerToStart): Promise<KeptShapes>;
  /** Merges these shapes into the stored ones. */
  merge(server: ServerToStart, shapes: KeptShapes): Promise<void>;
}

/** Maximum characters of all shapes of one server; the oldest are dropped. */
const MAX_LENGTH = 1_000_000;

const FileSchema = z.strictObject({ version: z.literal(1), shapes: z.record(z.string(), z.json()) });

/** Keeps the shapes of each server in a JSON file of the folder that only its owner can read and write (0600). */
export function fileShapes(folder: string): ShapeStore {
  const shapesFile = (server: ServerToStart) =>
    new PrivateJsonFile(join(folder, `${hash([server.name, serverFingerprint(server)])}.json`), {
      schema: FileSchema,
      empty: { version: 1, shapes: {} },
      advice: 'Delete it. The shapes of results are learned again.',
    });
  return {
    read: async (server) => (await shapesFile(server).read()).shapes,
    merge: (server, shapes) =>
      shapesFile(server).update((content) => ({ version: 1, shapes: mergedShapes(content.shapes, shapes) })),
  };
}

function mergedShapes(kept: KeptShapes, more: KeptShapes): z.infer<typeof FileSchema>['shapes'] {
  const others = Object.entries(kept).filter(([id]) => !Object.hasOwn(more, id));
  const merged = Object.entries(more).map(([id, shape]): [string, unknown] => [id, mergeKeptShapes(kept[id], shape)]);
  const newestFirst = [...others, ...merged].toReversed();
  const fitting: [string, unknown][] = [];
  let room = MAX_LENGTH;
  for (const [id, shape] of newestFirst) {
    room -= id.length + JSON.stringify(shape).length;
    // defence: kept-shapes-have-a-size
    if (room < 0) break;
    fitting.push([id, shape]);
  }
  return Object.fromEntries(fitting.toReversed()) as z.infer<typeof FileSchema>['shapes'];
}

export interface ServerShapesOptions {
  readonly server: ServerToStart;
  readonly store: ShapeStore | undefined;
  /** Called with the reason why shapes could not be read or stored. */
  readonly onProblem: (error: unknown) => void;
}

/** The shapes of one server's results. They outlive a connection, and with a store, the process. */
export class ServerShapes {
  readonly #options: ServerShapesOptions;
  readonly #shapes = new Map<string, unknown>();
  readonly #ofTools = new Map<string, ResultShapes>();
  #unstored = new Set<string>();
  #loading: Promise<void> | undefined;
  #storing = Promise.resolve();

  constructor(options: ServerShapesOptions) {
    this.#options = options;
  }

  /** Reads the stored shapes, once. */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  /** The shapes of this version of a tool. */
  of(definition: ToolDefinition): ResultShapes {
    const version = toolFingerprint(definition);
    const known = this.#ofTools.get(version);
    if (known !== undefined) return known;
    const shapeId = (principal: string | undefined) => hash([version, principal ?? null]);
    const shapes: ResultShapes = {
      read: (principal) => this.#shapes.get(shapeId(principal)),
      write: (principal, shape) => {
        const id = shapeId(principal);
        this.#shapes.set(id, mergeKeptShapes(this.#shapes.get(id), shape));
        this.#unstored.add(id);
        this.#storing = this.#storing.then(() => this.#store());
      },
    };
    this.#ofTools.set(version, shapes);
    return shapes;
  }

  /** Resolves when all shapes are stored. */
  async stored(): Promise<void> {
    await this.#storing;
  }

  async #load(): Promise<void> {
    const { server, store, onProblem } = this.#options;
    try {
      for (const [id, shape] of Object.entries((await store?.read(server)) ?? {})) this.#shapes.set(id, shape);
    } catch (error) {
      onProblem(error);
    }
  }

  async #store(): Promise<void> {
    const { server, store, onProblem } = this.#options;
    if (store === undefined || this.#unstored.size === 0) return;
    const ids = this.#unstored;
    this.#unstored = new Set();
    try {
      await store.merge(server, Object.fromEntries([...ids].map((id) => [id, this.#shapes.get(id)])));
    } catch (error) {
      onProblem(error);
    }
  }
}
