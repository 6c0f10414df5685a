PRAGMA application_id = 1416589164;
PRAGMA user_version = 1;
CREATE TABLE counter (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), value INTEGER NOT NULL) STRICT;
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
CREATE TABLE workers (
  worker_id TEXT PRIMARY KEY,
  opens TEXT NOT NULL,
  workspaces TEXT,
  lease_ms INTEGER NOT NULL,
  lease_expires_at INTEGER NOT NULL
  ) STRICT;
CREATE TABLE probe (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), value INTEGER NOT NULL) STRICT;
CREATE INDEX runs_of_state ON runs (state, position);
CREATE INDEX runs_of_thread ON runs (thread_id, position);
CREATE INDEX runs_of_transcript ON runs (transcript);
CREATE INDEX active_runs_of_thread ON runs (thread_id, position) WHERE state IN ('queued', 'running', 'suspended');
CREATE INDEX claimable_runs_of_class ON runs (needs || workspace, position) WHERE state IN ('queued', 'running');
CREATE INDEX claimable_runs_of_principal ON runs (needs || workspace, principal, position) WHERE state IN ('queued', 'running');
CREATE INDEX cancelled_runs ON runs (needs || workspace, position) WHERE state IN ('queued', 'running') AND cancel_requested_at IS NOT NULL;
CREATE INDEX claimable_runs ON runs (position) WHERE state IN ('queued', 'running');
CREATE UNIQUE INDEX running_of_thread ON runs (thread_id) WHERE state = 'running';
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
INSERT INTO counter VALUES (1, 8);
INSERT INTO threads VALUES ('thr_1', '"ada"', '"a\u0000title"', '"/w"', '"coder"', 1750000000000, 1750000000000, 8, 'a�title', NULL, 0);
INSERT INTO instructions VALUES ('thr_1', '{"agentId":"coder","model":"m","system":"be brief"}');
INSERT INTO probe VALUES (1, 0);
INSERT INTO transcripts VALUES (2, '[{"type":"message","id":"item_user","role":"user","content":"pay \"Ada\" 1 €"}]', 'pay "ada" 1 €');
INSERT INTO runs VALUES ('run_1', 2, 'thr_1', 'turn_1', '"ada"', '"/w"', 'suspended', 'new', 1, '{"agentId":"coder"}', NULL, NULL, NULL, NULL, 0, NULL, 1750000000000, 1750000000000, NULL, 2, 478, NULL, '[]');
INSERT INTO requests VALUES ('"ada"', '"key"', '8ad23f101a06e01b23621e53e226549741614126e422a871f7475db5cd3620be', 'run_1');
INSERT INTO events VALUES (2, 0, 234, '{"event_id":"evt_0","run_id":"run_1","thread_id":"thr_1","turn_id":"turn_1","seq":0,"timestamp":1750000000000,"payload":{"type":"response_start","input":[{"type":"message","id":"item_user","role":"user","content":"pay \"Ada\" 1 €"}]}}');
INSERT INTO events VALUES (2, 1, 166, '{"event_id":"evt_1","run_id":"run_1","thread_id":"thr_1","turn_id":"turn_1","seq":1,"timestamp":1750000000000,"payload":{"type":"response_done","status":"suspended"}}');
INSERT INTO approvals VALUES ('apr_1', 7, 'run_1', 'thr_1', '"ada"', '{"approvalId":"apr_1","callId":"call_1","tool":"pay","input":{},"inputJson":"{}","effect":"write","rendered":"pay"}', 1750000000000, NULL, 'pending', NULL, NULL, NULL);
INSERT INTO log_runs VALUES ('run_1', 5, 1, 2, 0, 0);
INSERT INTO log_events VALUES ('run_1', 0, 234, '{"event_id":"evt_0","run_id":"run_1","thread_id":"thr_1","turn_id":"turn_1","seq":0,"timestamp":1750000000000,"payload":{"type":"response_start","input":[{"type":"message","id":"item_user","role":"user","content":"pay \"Ada\" 1 €"}]}}');
INSERT INTO log_events VALUES ('run_1', 1, 166, '{"event_id":"evt_1","run_id":"run_1","thread_id":"thr_1","turn_id":"turn_1","seq":1,"timestamp":1750000000000,"payload":{"type":"response_done","status":"suspended"}}');
INSERT INTO log_groups VALUES ('"persistence"', 'run_1', 0, 6, 1, '""', 1000, 1750000001000, 0);
INSERT INTO shelves VALUES ('8a2a0b2ce22c93795a89cef48f6f21ec24de0a9c15e43523e4b5fd5031091819', '"ada"', 'thr_1', 8);
INSERT INTO documents VALUES ('8a2a0b2ce22c93795a89cef48f6f21ec24de0a9c15e43523e4b5fd5031091819', '006e006f007400650073002e006d0064', 'thread', '"thr_1"', 'file', 'thr_1', 2, NULL);
INSERT INTO document_texts VALUES ('txt_1', '"one"');
INSERT INTO document_texts VALUES ('txt_2', '"a\u0000two"');
INSERT INTO document_versions VALUES ('8a2a0b2ce22c93795a89cef48f6f21ec24de0a9c15e43523e4b5fd5031091819', '006e006f007400650073002e006d0064', 1, 3, '{}', 1750000000000, 1750000000005, 'txt_1');
INSERT INTO document_versions VALUES ('8a2a0b2ce22c93795a89cef48f6f21ec24de0a9c15e43523e4b5fd5031091819', '006e006f007400650073002e006d0064', 2, 5, '{"title":"T"}', 1750000000000, NULL, 'txt_2');
INSERT INTO document_changes VALUES ('8a2a0b2ce22c93795a89cef48f6f21ec24de0a9c15e43523e4b5fd5031091819', 1, '3cfc68e43d04b48a98a0f1ec46d50b4af7708c0cdd53588117d1e510f6bdb048', 'thr_1', 1, 3, 1750000000000, 1750000000005);
INSERT INTO heaps VALUES ('982c2f9e71df354525a6c3c60fe5f63cbf624b59fb9539e267f5ad935c619613', 'heap_1', 8, NULL, 0, 'thr_1', '{}', '[]', 5, 1750000000000, x'0100ff');
