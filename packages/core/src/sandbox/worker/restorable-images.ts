import type { ImageSource, SandboxCapture } from '../../protocol/index.js';
import { keepableArtefacts, loadKept, type ExecuteArtefacts } from './artefacts.js';
import { readCapture } from './captures.js';
import type { Origin } from './live-run.js';

/** Maximum number of engines and images of other versions that stay loaded. */
const MAX_LOADED = 4;

/** The images from which captured scripts are restored: this version's, and others on demand. */
export class RestorableImages {
  readonly #maxMemoryMb: number;
  readonly #loaded = new Map<string, Promise<ExecuteArtefacts>>();
  #current: Promise<ReadonlyMap<string, Uint8Array>> | undefined;

  constructor(maxMemoryMb: number) {
    this.#maxMemoryMb = maxMemoryMb;
  }

  /** This version's images, by name. */
  current(): Promise<ReadonlyMap<string, Uint8Array>> {
    this.#current ??= keepableArtefacts();
    return this.#current;
  }

  /** Rejects if the capture is damaged, or if one of its images cannot be found. */
  async originOf(capture: SandboxCapture, images: ImageSource): Promise<Origin> {
    const snapshot = readCapture(capture.state);
    const current = [...(await this.current()).keys()];
    const isCurrent = capture.images.every((name, index) => name === current[index]);
    const other = isCurrent ? undefined : await this.#load(capture.images, images);
    return { snapshot, images: capture.images, other };
  }

  #load(names: readonly string[], images: ImageSource): Promise<ExecuteArtefacts> {
    const key = names.join(' ');
    const known = this.#loaded.get(key);
    if (known !== undefined) return known;
    const loading = loadKept(names, images, this.#maxMemoryMb);
    loading.catch(() => this.#loaded.delete(key));
    if (this.#loaded.size >= MAX_LOADED) this.#loaded.clear();
    this.#loaded.set(key, loading);
    return loading;
  }
}
