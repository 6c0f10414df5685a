import { Counter, Histogram, Registry } from 'prom-client';
import { RunMetrics } from './run-metrics.js';
import { registerGauges, type GaugeSources } from './service-gauges.js';

const REQUEST_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30];

interface EndedRequest {
  readonly method: string;
  /** The pattern of the route; undefined if no route matched. */
  readonly route: string | undefined;
  readonly status: number;
  readonly seconds: number;
}

/** The metrics of one server, in the text format of Prometheus. */
export class ServiceMetrics {
  readonly runs: RunMetrics;
  readonly #registry = new Registry();
  readonly #readStores: () => Promise<void>;
  readonly #droppedCounter: Counter;
  readonly #requests: Histogram<'method' | 'route' | 'status'>;

  constructor(sources: GaugeSources) {
    const registers = [this.#registry];
    this.runs = new RunMetrics(this.#registry);
    this.#droppedCounter = new Counter({
      name: 'toolscript_stream_clients_dropped_total',
      help: 'Clients that read their stream too slowly, and were dropped.',
      registers,
    });
    this.#requests = new Histogram({
      name: 'toolscript_http_request_duration_seconds',
      help: 'Time to the end of the response, including streams, by method, route and status.',
      labelNames: ['method', 'route', 'status'],
      buckets: REQUEST_BUCKETS,
      registers,
    });
    this.#readStores = registerGauges(this.#registry, sources);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async text(): Promise<string> {
    await this.#readStores();
    return this.#registry.metrics();
  }

  streamDropped(): void {
    this.#droppedCounter.inc();
  }

  requestEnded({ method, route, status, seconds }: EndedRequest): void {
    this.#requests.observe({ method, route: route ?? 'none', status }, seconds);
  }
}
