export interface GuestBundleOptions {
  /** The module to begin with, within the guest's folder. Default: `main.ts`. */
  readonly entry?: string;
  /** Gives a module another source. */
  readonly change?: (path: string, source: string) => string;
  /** Code that comes before the modules. */
  readonly prelude?: string;
}

export function bundleGuest(options?: GuestBundleOptions): Promise<string>;
