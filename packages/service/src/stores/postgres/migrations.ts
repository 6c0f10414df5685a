/**
 * The steps from an empty schema to the schema of this version. The table `toolscript_schema` counts the completed
 * steps. A released step never changes: the next version adds a step. Names and texts are those of
 * `tables/migrations.ts`.
 */
export const POSTGRES_MIGRATIONS: readonly string[] = [
  `
  CREATE SEQUENCE positions;

  CREATE TABLE threads (
    thread_id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    title TEXT NOT NULL,
    workspace TEXT NOT NULL,
    agent_id TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    changed BIGINT NOT NULL UNIQUE,
    searched TEXT NOT NULL,
    branch_of TEXT,
    bytes BIGINT NOT NULL
  );
  CREATE INDEX threads_of_principal ON threads (left(principal, 200), changed, bytes);

  CREATE TABLE instructions (
    thread_id TEXT PRIMARY KEY REFERENCES threads ON DELETE CASCADE,
    instructions TEXT NOT NULL
  );

  CREATE TABLE transcripts (
    transcript BIGINT PRIMARY KEY,
    input TEXT NOT NULL,
    searched TEXT NOT NULL
  );

  CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    position BIGINT NOT NULL UNIQUE,
    thread_id TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    turn_id TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    workspace TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    options TEXT NOT NULL,
    owner TEXT,
    lease_ms BIGINT,
    lease_expires_at BIGINT,
    left_by TEXT,
    deaths BIGINT NOT NULL DEFAULT 0,
    cancel_requested_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    error TEXT,
    transcript BIGINT NOT NULL REFERENCES transcripts ON DELETE CASCADE,
    bytes BIGINT NOT NULL,
    parked TEXT,
    needs TEXT NOT NULL
  );
  CREATE INDEX runs_of_state ON runs (state, position);
  CREATE INDEX runs_of_thread ON runs (thread_id, position);
  CREATE INDEX runs_of_transcript ON runs (transcript);
  CREATE INDEX claimable_runs ON runs (position) WHERE state IN ('queued', 'running');
  CREATE INDEX claimable_runs_of_class ON runs (md5(needs || workspace), position) WHERE state IN ('queued', 'running');
  CREATE INDEX claimable_runs_of_principal ON runs (md5(needs || workspace), md5(principal), position) WHERE state IN ('queued', 'running');
  CREATE INDEX cancelled_runs ON runs (md5(needs || workspace), position) WHERE state IN ('queued', 'running') AND cancel_requested_at IS NOT NULL;
  CREATE INDEX active_runs_of_thread ON runs (thread_id, position) WHERE state IN ('queued', 'running', 'suspended');
  CREATE UNIQUE INDEX running_of_thread ON runs (thread_id) WHERE state = 'running';

  CREATE TABLE workers (
    worker_id TEXT PRIMARY KEY,
    opens TEXT NOT NULL,
    workspaces TEXT,
    lease_ms BIGINT NOT NULL,
    lease_expires_at BIGINT NOT NULL
  );

  CREATE TABLE probe (only_row BIGINT PRIMARY KEY CHECK (only_row = 1), value BIGINT NOT NULL);
  INSERT INTO probe VALUES (1, 0);

  CREATE TABLE folded_transcripts (
    transcript BIGINT PRIMARY KEY REFERENCES transcripts ON DELETE CASCADE,
    items TEXT NOT NULL
  );

  CREATE TABLE requests (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE
  );
  CREATE INDEX requests_of_key ON requests (left(principal, 200), left(key, 200));
  CREATE INDEX requests_of_run ON requests (run_id);

  CREATE TABLE events (
    transcript BIGINT NOT NULL REFERENCES transcripts ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    length BIGINT NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (transcript, seq)
  );

  CREATE TABLE approvals (
    approval_id TEXT PRIMARY KEY,
    position BIGINT NOT NULL UNIQUE,
    run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    thread_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    request TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    state TEXT NOT NULL,
    decision TEXT,
    decided_by TEXT,
    decided_at BIGINT
  );
  CREATE INDEX approvals_of_state ON approvals (state, position);
  CREATE INDEX approvals_of_run ON approvals (run_id, position);

  CREATE TABLE log_runs (
    run_id TEXT PRIMARY KEY,
    position BIGINT NOT NULL UNIQUE,
    epoch BIGINT NOT NULL,
    next_seq BIGINT NOT NULL,
    is_ended BIGINT NOT NULL,
    first_seq BIGINT NOT NULL
  );

  CREATE TABLE log_events (
    run_id TEXT NOT NULL REFERENCES log_runs ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    length BIGINT NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
  );

  CREATE TABLE log_groups (
    name TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES log_runs ON DELETE CASCADE,
    next_seq BIGINT NOT NULL,
    served BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    reason TEXT NOT NULL,
    lease_ms BIGINT NOT NULL,
    lease_expires_at BIGINT NOT NULL,
    is_dead BIGINT NOT NULL,
    PRIMARY KEY (name, run_id)
  );
  CREATE INDEX log_groups_of_run ON log_groups (run_id);

  CREATE TABLE scripts (
    script_id TEXT PRIMARY KEY,
    epoch BIGINT NOT NULL,
    owner TEXT NOT NULL,
    lease_ms BIGINT NOT NULL,
    lease_expires_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    thread_id TEXT,
    run_id TEXT,
    principal TEXT,
    status TEXT NOT NULL,
    slot TEXT,
    slot_bytes BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    appends BIGINT NOT NULL,
    last_write TEXT,
    updated_at BIGINT NOT NULL
  );
  CREATE INDEX scripts_by_time ON scripts (updated_at, script_id);
  CREATE INDEX scripts_of_state ON scripts (state, updated_at, script_id);
  CREATE INDEX scripts_of_thread ON scripts (left(thread_id, 200), updated_at, script_id);
  CREATE INDEX scripts_of_run ON scripts (left(run_id, 200));
  CREATE INDEX scripts_of_principal ON scripts (left(principal, 200), updated_at, script_id);

  CREATE TABLE script_lines (
    script_id TEXT NOT NULL REFERENCES scripts ON DELETE CASCADE,
    number BIGINT NOT NULL,
    lines TEXT NOT NULL,
    PRIMARY KEY (script_id, number)
  );

  CREATE TABLE images (sha256 TEXT PRIMARY KEY, packed BYTEA NOT NULL);

  CREATE TABLE api_keys (key_id TEXT PRIMARY KEY, created_at BIGINT NOT NULL, key TEXT NOT NULL);

  CREATE TABLE audit (
    position BIGINT PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    thread_id TEXT,
    run_id TEXT,
    script_id TEXT,
    entry TEXT NOT NULL
  );
  CREATE INDEX audit_of_principal ON audit (left(principal, 200), position);
  CREATE INDEX audit_of_run ON audit (run_id, position);

  CREATE TABLE shelves (
    shelf TEXT PRIMARY KEY,
    principal TEXT,
    thread_id TEXT REFERENCES threads ON DELETE CASCADE,
    bytes BIGINT NOT NULL
  );
  CREATE INDEX shelves_of_principal ON shelves (left(principal, 200), bytes);
  CREATE INDEX shelves_of_thread ON shelves (thread_id, bytes);

  CREATE TABLE documents (
    shelf TEXT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    scope_kind TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    thread_id TEXT REFERENCES threads ON DELETE CASCADE,
    version BIGINT NOT NULL,
    expires_at BIGINT,
    PRIMARY KEY (shelf, name)
  );
  CREATE INDEX documents_of_thread ON documents (thread_id);
  CREATE INDEX expiring_documents ON documents (expires_at) WHERE expires_at IS NOT NULL;

  CREATE TABLE document_texts (text_id TEXT PRIMARY KEY, text TEXT NOT NULL);

  CREATE TABLE document_versions (
    shelf TEXT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    about TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    text_id TEXT NOT NULL REFERENCES document_texts,
    PRIMARY KEY (shelf, name, version),
    FOREIGN KEY (shelf, name) REFERENCES documents ON DELETE CASCADE
  );
  CREATE INDEX document_versions_of_text ON document_versions (text_id);

  CREATE TABLE document_changes (
    shelf TEXT NOT NULL,
    number BIGINT NOT NULL,
    change TEXT NOT NULL,
    thread_id TEXT REFERENCES threads ON DELETE CASCADE,
    version BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    made_at BIGINT NOT NULL,
    expires_at BIGINT,
    PRIMARY KEY (shelf, number),
    UNIQUE (shelf, change)
  );
  CREATE INDEX document_changes_by_time ON document_changes (made_at);
  CREATE INDEX document_changes_of_thread ON document_changes (thread_id);

  CREATE TABLE heaps (
    owner TEXT NOT NULL,
    heap_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    parent_id TEXT,
    is_delta BIGINT NOT NULL,
    thread_id TEXT,
    head TEXT NOT NULL,
    images TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    state BYTEA NOT NULL,
    PRIMARY KEY (owner, heap_id)
  );
  CREATE INDEX heaps_of_thread ON heaps (thread_id, owner, position);
  CREATE INDEX heaps_of_owner ON heaps (owner, bytes);
  `,
];
