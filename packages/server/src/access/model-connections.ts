/** A provider of models, and the source of its key. */
export interface ConnectedProvider {
  readonly provider: string;
  readonly name: string;
  /** `stored`: the server has stored it. `environment`: a variable of the server has it. */
  readonly key: 'none' | 'stored' | 'environment';
}

/** The stored keys of providers of models. No key is ever read back. */
export interface ModelConnections {
  list(): Promise<readonly ConnectedProvider[]>;
  /**
   * Tests the key at the provider, stores it, and returns the models of the provider. A text is the reason why the key
   * is not stored.
   */
  connect(provider: string, key: string): Promise<readonly string[] | string>;
  /** Removes a stored key. Returns whether there was one. */
  remove(provider: string): Promise<boolean>;
}
