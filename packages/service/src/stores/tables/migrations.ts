/**
 * The steps from an empty database to the schema of this version. `user_version` counts the completed steps. A released
 * step never changes: the next version adds a step.
 *
 * External texts are stored as JSON text, which represents every string, including NUL and lone surrogates. A position
 * comes from one counter, so that the order of changes does not depend on a clock.
 *
 * A transcript is the input and the events of a run; its number is the position of that run. A branch does not copy
 * transcripts: its runs refer to those of the runs that they copy. A transcript is deleted with its last run.
 */
export const LIBSQL_MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE counter (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), value INTEGER NOT NULL) STRICT;
  INSERT INTO counter VALUES (1, 0);

  CREATE TABLE threads (
    thread_id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    title TEXT NOT NULL,
    workspace TEXT NOT NULL,
    agent_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    changed INTEGER NOT NULL UNIQUE,
    searched TEXT NOT NULL,
    branch_of TEXT,
    bytes INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX threads_of_principal ON threads (principal, changed, bytes);

  CREATE TABLE instructions (
    thread_id TEXT PRIMARY KEY REFERENCES threads ON DELETE CASCADE,
    instructions TEXT NOT NULL
  ) STRICT;

  CREATE TABLE transcripts (
    transcript INTEGER PRIMARY KEY,
    input TEXT NOT NULL,
    searched TEXT NOT NULL
  ) STRICT;

  CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    position INTEGER NOT NULL UNIQUE,
    thread_id TEXT NOT NULL REFERENCES threads ON DELETE CASCADE,
    turn_id TEXT NOT NULL UNIQUE,
    principal TEXT NOT NULL,
    workspace TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    options TEXT NOT NULL,
    owner TEXT,
    lease_ms INTEGER,
    lease_expires_at INTEGER,
    left_by TEXT,
    deaths INTEGER NOT NULL DEFAULT 0,
    cancel_requested_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    error TEXT,
    transcript INTEGER NOT NULL REFERENCES transcripts ON DELETE CASCADE,
    bytes INTEGER NOT NULL,
    parked TEXT,
    needs TEXT NOT NULL
  ) STRICT;
  CREATE INDEX runs_of_state ON runs (state, position);
  CREATE INDEX runs_of_thread ON runs (thread_id, position);
  CREATE INDEX runs_of_transcript ON runs (transcript);
  CREATE INDEX claimable_runs ON runs (position) WHERE state IN ('queued', 'running');
  CREATE INDEX claimable_runs_of_class ON runs (needs || workspace, position) WHERE state IN ('queued', 'running');
  CREATE INDEX claimable_runs_of_principal ON runs (needs || workspace, principal, position) WHERE state IN ('queued', 'running');
  CREATE INDEX cancelled_runs ON runs (needs || workspace, position) WHERE state IN ('queued', 'running') AND cancel_requested_at IS NOT NULL;
  CREATE INDEX active_runs_of_thread ON runs (thread_id, position) WHERE state IN ('queued', 'running', 'suspended');
  CREATE UNIQUE INDEX running_of_thread ON runs (thread_id) WHERE state = 'running';

  CREATE TABLE workers (
    worker_id TEXT PRIMARY KEY,
    opens TEXT NOT NULL,
    workspaces TEXT,
    lease_ms INTEGER NOT NULL,
    lease_expires_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE probe (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), value INTEGER NOT NULL) STRICT;
  INSERT INTO probe VALUES (1, 0);

  CREATE TABLE folded_transcripts (
    transcript INTEGER PRIMARY KEY REFERENCES transcripts ON DELETE CASCADE,
    items TEXT NOT NULL
  ) STRICT;

  CREATE TABLE requests (
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    PRIMARY KEY (principal, key)
  ) STRICT;
  CREATE INDEX requests_of_run ON requests (run_id);

  CREATE TABLE events (
    transcript INTEGER NOT NULL REFERENCES transcripts ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    length INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (transcript, seq)
  ) STRICT;

  CREATE TABLE approvals (
    approval_id TEXT PRIMARY KEY,
    position INTEGER NOT NULL UNIQUE,
    run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    thread_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    request TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    state TEXT NOT NULL,
    decision TEXT,
    decided_by TEXT,
    decided_at INTEGER
  ) STRICT;
  CREATE INDEX approvals_of_state ON approvals (state, position);
  CREATE INDEX approvals_of_run ON approvals (run_id, position);

  CREATE TABLE log_runs (
    run_id TEXT PRIMARY KEY,
    position INTEGER NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    next_seq INTEGER NOT NULL,
    is_ended INTEGER NOT NULL,
    first_seq INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE log_events (
    run_id TEXT NOT NULL REFERENCES log_runs ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    length INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
  ) STRICT;

  CREATE TABLE log_groups (
    name TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES log_runs ON DELETE CASCADE,
    next_seq INTEGER NOT NULL,
    served INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    reason TEXT NOT NULL,
    lease_ms INTEGER NOT NULL,
    lease_expires_at INTEGER NOT NULL,
    is_dead INTEGER NOT NULL,
    PRIMARY KEY (name, run_id)
  ) STRICT;
  CREATE INDEX log_groups_of_run ON log_groups (run_id);

  CREATE TABLE shelves (
    shelf TEXT PRIMARY KEY,
    principal TEXT,
    thread_id TEXT REFERENCES threads ON DELETE CASCADE,
    bytes INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX shelves_of_principal ON shelves (principal, bytes);
  CREATE INDEX shelves_of_thread ON shelves (thread_id, bytes);

  CREATE TABLE documents (
    shelf TEXT NOT NULL,
    name TEXT NOT NULL,
    scope_kind TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    thread_id TEXT REFERENCES threads ON DELETE CASCADE,
    version INTEGER NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (shelf, name)
  ) STRICT;
  CREATE INDEX documents_of_thread ON documents (thread_id);
  CREATE INDEX expiring_documents ON documents (expires_at) WHERE expires_at IS NOT NULL;

  CREATE TABLE document_texts (text_id TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;

  CREATE TABLE document_versions (
    shelf TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    about TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    text_id TEXT NOT NULL REFERENCES document_texts,
    PRIMARY KEY (shelf, name, version),
    FOREIGN KEY (shelf, name) REFERENCES documents ON DELETE CASCADE
  ) STRICT;
  CREATE INDEX document_versions_of_text ON document_versions (text_id);

  CREATE TABLE document_changes (
    shelf TEXT NOT NULL,
    number INTEGER NOT NULL,
    change TEXT NOT NULL,
    thread_id TEXT REFERENCES threads ON DELETE CASCADE,
    version INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    made_at INTEGER NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (shelf, number),
    UNIQUE (shelf, change)
  ) STRICT;
  CREATE INDEX document_changes_by_time ON document_changes (made_at);
  CREATE INDEX document_changes_of_thread ON document_changes (thread_id);

  CREATE TABLE heaps (
    owner TEXT NOT NULL,
    heap_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    parent_id TEXT,
    is_delta INTEGER NOT NULL,
    thread_id TEXT,
    head TEXT NOT NULL,
    images TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (owner, heap_id)
  ) STRICT;
  CREATE INDEX heaps_of_thread ON heaps (thread_id, owner, position);
  CREATE INDEX heaps_of_owner ON heaps (owner, bytes);
  `,
];
