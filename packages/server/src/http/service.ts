import type { EventLog, HarnessStore, ServiceStores } from '@toolscript/core/protocol';
import type { AccessLimits, AuditStore, RememberedRules } from '../access/index.js';
import type { AgentDirectory, LongReads, RunWorker, StoreProbe } from '@toolscript/service';
import type { Projection } from '@toolscript/service';
import type { ServiceMetrics } from '../observability/index.js';
import type { OpenStreams } from './open-streams.js';
import type { RequestAudit } from './request-audit.js';

/** The services that the routes use. */
export interface Service {
  readonly stores: ServiceStores;
  readonly log: EventLog;
  readonly scripts: HarnessStore;
  readonly probe: StoreProbe;
  readonly projection: Projection | undefined;
  readonly agents: AgentDirectory;
  readonly longReads: LongReads;
  /** Undefined: only other processes execute runs. */
  readonly worker: RunWorker | undefined;
  /** The folder or application that new threads belong to. */
  readonly workspace: string;
  /** Open streams, which end when the server closes. */
  readonly streams: OpenStreams;
  readonly limits: AccessLimits;
  readonly metrics: ServiceMetrics;
  readonly audit: AuditStore;
  readonly requestAudit: RequestAudit;
  /** Undefined: the server cannot store a decision for the whole workspace. */
  readonly rules: RememberedRules | undefined;
  isDraining: boolean;
}
