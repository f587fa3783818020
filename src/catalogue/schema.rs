//! The tables, as they are made and as they grow: a list of SQL texts, each a version.

/// Marks the file as ours (`mkbk`).
pub(super) const APPLICATION: i32 = 0x6D6B_626B;

/// Each takes the file from one `user_version` to the next. Written for SQLite 3.9 and later, so that any tool reads it.
pub(super) const MIGRATIONS: [&str; 2] = [
    r"
CREATE TABLE trace (
  id INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,
  source_key TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL,
  kind TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('complete', 'partial')),
  benchmark TEXT NOT NULL, model TEXT NOT NULL, rule TEXT NOT NULL,
  rows INTEGER NOT NULL, questions INTEGER NOT NULL, attempts INTEGER NOT NULL,
  procedure TEXT NOT NULL, slice TEXT, model_hash TEXT NOT NULL, environment TEXT NOT NULL,
  unknown INTEGER NOT NULL,
  card TEXT NOT NULL CHECK (json_valid(card)),
  created_at TEXT NOT NULL, added_at TEXT NOT NULL, writer TEXT NOT NULL);
CREATE INDEX trace_by_measure ON trace (benchmark, procedure, slice);
CREATE INDEX trace_by_content ON trace (content);
CREATE TABLE place (
  trace INTEGER NOT NULL REFERENCES trace ON DELETE CASCADE, path TEXT NOT NULL, seen_at TEXT NOT NULL, gone_at TEXT,
  PRIMARY KEY (trace, path)) WITHOUT ROWID;
CREATE TABLE score (
  trace INTEGER NOT NULL REFERENCES trace ON DELETE CASCADE, rule TEXT NOT NULL,
  scope TEXT NOT NULL CHECK (scope IN ('all', 'category', 'subject', 'seed', 'label')), name TEXT NOT NULL,
  n INTEGER NOT NULL, questions INTEGER NOT NULL, correct INTEGER NOT NULL, invalid INTEGER NOT NULL,
  accuracy REAL, low REAL, high REAL, ci_kind TEXT, stderr REAL, within REAL,
  PRIMARY KEY (trace, rule, scope, name)) WITHOUT ROWID;
CREATE TABLE label (trace INTEGER NOT NULL REFERENCES trace ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('tag', 'note', 'hidden')), text TEXT NOT NULL, at TEXT NOT NULL,
  PRIMARY KEY (trace, kind, text)) WITHOUT ROWID;
CREATE TABLE baseline (name TEXT PRIMARY KEY, path TEXT NOT NULL, run_id TEXT NOT NULL, procedure TEXT NOT NULL, slice TEXT NOT NULL,
  threshold REAL NOT NULL, sha256 TEXT NOT NULL, frozen_at TEXT NOT NULL, reason TEXT) WITHOUT ROWID;
CREATE TABLE gate (id INTEGER PRIMARY KEY, at TEXT NOT NULL, baseline TEXT NOT NULL, run_id TEXT NOT NULL, verdict TEXT NOT NULL,
  change REAL, low REAL, high REAL, p REAL, threshold REAL NOT NULL);
CREATE TABLE published (id INTEGER PRIMARY KEY, model TEXT NOT NULL, benchmark TEXT NOT NULL, value REAL NOT NULL, how TEXT,
  shots INTEGER, method TEXT, variant TEXT, source TEXT NOT NULL, seen TEXT, origin TEXT NOT NULL,
  UNIQUE (model, benchmark, value, source));
CREATE TABLE study_member (study TEXT NOT NULL, cell TEXT NOT NULL, trace INTEGER REFERENCES trace ON DELETE SET NULL,
  knobs TEXT NOT NULL, PRIMARY KEY (study, cell)) WITHOUT ROWID;
CREATE VIEW eval_runs AS
SELECT CASE WHEN s.rule = t.rule THEN t.run_id ELSE t.run_id || '~' || s.rule END AS run_id,
  t.model AS model, t.benchmark AS metric, s.accuracy AS score,
  json_object('harness_name', json_extract(t.card, '$.harness.name'), 'harness_version', json_extract(t.card, '$.harness.version'),
    'dataset', json_extract(t.card, '$.data.source'), 'subject', json_extract(t.card, '$.data.subjects'), 'slice_fingerprint', t.slice,
    'split', json_extract(t.card, '$.data.split'), 'num_fewshot', json_extract(t.card, '$.prompt.shots'), 'grader', s.rule,
    'seed', json_extract(t.card, '$.seeds'), 'temperature', json_extract(t.card, '$.sampling.temperature'),
    'precision', json_extract(t.card, '$.engine.dtype'), 'gpu', json_extract(t.card, '$.machine.device'), 'run_at', t.created_at,
    'procedure', t.procedure, 'environment', t.environment, 'n', s.n, 'low', s.low, 'high', s.high) AS meta,
  t.created_at AS created_at
FROM trace t JOIN score s ON s.trace = t.id AND s.scope = 'all';
",
    r"
CREATE TABLE finding (
  trace INTEGER NOT NULL REFERENCES trace ON DELETE CASCADE, kind TEXT NOT NULL, rows INTEGER NOT NULL, detail TEXT NOT NULL,
  at TEXT NOT NULL, PRIMARY KEY (trace, kind, detail)) WITHOUT ROWID;
",
];
