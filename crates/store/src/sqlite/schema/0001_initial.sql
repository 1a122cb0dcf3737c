-- Steadfast, schema 1. Times are nanoseconds since 1970-01-01 UTC.
-- Columns named state, data, memo hold a format number and a protobuf message.

-- One row a run: what is rewritten with each step, and what finds it again.
CREATE TABLE runs (
    id          INTEGER PRIMARY KEY,  -- the run's number in this file, never reused
    shard       INTEGER NOT NULL,     -- the part of the work that it belongs to
    namespace   TEXT    NOT NULL,     -- the namespace's id
    workflow_id TEXT    NOT NULL,     -- the id that the user gave
    run_id      TEXT    NOT NULL,
    next_due    INTEGER,              -- when to look at it again even if nothing happens
    has_work    INTEGER NOT NULL,     -- 1: it has a task or a message to hand out
    state       BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX runs_by_run_id ON runs (run_id);
CREATE INDEX runs_by_workflow_id ON runs (namespace, workflow_id, id);
CREATE INDEX runs_due ON runs (shard, next_due, id) WHERE next_due IS NOT NULL;
CREATE INDEX runs_with_work ON runs (shard, id) WHERE has_work;

-- Histories, some consecutive events a row. Rows are appended in the order of commits and found by
-- an index: clustering them by run would rewrite a page for every run in a commit.
CREATE TABLE events (
    run         INTEGER NOT NULL,
    first_event INTEGER NOT NULL,     -- id of the first event in the row
    last_event  INTEGER NOT NULL,     -- id of the last event in the row
    data        BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX events_by_run ON events (run, first_event);

-- What a run waits for.
CREATE TABLE items (
    run         INTEGER NOT NULL,
    kind        INTEGER NOT NULL,     -- 1 activity, 2 timer, 3 child, 4 external, 5 update,
                                      -- 6 request, 7 buffered event, 8 message
    key         BLOB    NOT NULL,     -- its id; numbers are big-endian
    data        BLOB    NOT NULL,
    PRIMARY KEY (run, kind, key)
) STRICT, WITHOUT ROWID;

-- What lists and counts are made from, one row a run.
CREATE TABLE visibility (
    run                INTEGER PRIMARY KEY,
    namespace          TEXT    NOT NULL,
    workflow_type      TEXT    NOT NULL,
    task_queue         TEXT    NOT NULL,
    status             INTEGER NOT NULL, -- 1 running, 2 completed, 3 failed, 4 canceled,
                                         -- 5 terminated, 6 continued as new, 7 timed out
    start_time         INTEGER NOT NULL,
    execution_time     INTEGER NOT NULL,
    close_time         INTEGER,          -- NULL while open
    list_time          INTEGER GENERATED ALWAYS AS -- what lists are ordered by: open runs first
                       (ifnull(close_time, 9223372036854775807)) VIRTUAL,
    history_length     INTEGER NOT NULL,
    history_size       INTEGER NOT NULL,
    state_transitions  INTEGER NOT NULL,
    parent_workflow_id TEXT,
    parent_run_id      TEXT,
    root_workflow_id   TEXT,
    root_run_id        TEXT,
    memo               BLOB    NOT NULL,
    search_attributes  BLOB    NOT NULL
) STRICT;
-- Read backwards: open runs, then the newest close, then the newest start.
CREATE INDEX visibility_by_time ON visibility
    (namespace, list_time, start_time);
CREATE INDEX visibility_by_type ON visibility
    (namespace, workflow_type, list_time, start_time);
CREATE INDEX visibility_by_status ON visibility
    (namespace, status, list_time, start_time);

-- The values of search attributes, to search by. A list has several rows.
CREATE TABLE search_attributes (
    run         INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    position    INTEGER NOT NULL,     -- place in a list, from 0
    kind        TEXT    NOT NULL,     -- bool, number, time or text
    value       ANY     NOT NULL,
    PRIMARY KEY (run, name, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX search_attributes_by_value ON search_attributes (name, kind, value, run);

-- The attempts of activities: the first five and the last fifty of each.
CREATE TABLE attempts (
    run           INTEGER NOT NULL,
    activity      INTEGER NOT NULL,   -- id of its scheduled event; 0: the workflow itself
    attempt       INTEGER NOT NULL,   -- from 1
    activity_id   TEXT    NOT NULL,
    activity_type TEXT    NOT NULL,
    worker        TEXT    NOT NULL,
    scheduled_at  INTEGER NOT NULL,
    started_at    INTEGER,
    ended_at      INTEGER NOT NULL,
    outcome       INTEGER NOT NULL,   -- 1 failed, 2 timed out, 3 completed, 4 cancelled
    error_type    TEXT    NOT NULL,
    message       TEXT    NOT NULL,
    fingerprint   INTEGER NOT NULL,   -- equal for errors that differ only in numbers and ids
    why           TEXT    NOT NULL,   -- why it is retried, or not
    next_at       INTEGER
) STRICT;
CREATE UNIQUE INDEX attempts_by_activity ON attempts (run, activity, attempt);

-- The attempts in between: how many had which error.
CREATE TABLE attempt_counts (
    run         INTEGER NOT NULL,
    activity    INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    count       INTEGER NOT NULL,
    PRIMARY KEY (run, activity, fingerprint)
) STRICT, WITHOUT ROWID;

CREATE TABLE namespaces (
    id   TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    data BLOB NOT NULL
) STRICT;

CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

-- Who owns the work. A commit that names an older epoch is refused.
CREATE TABLE shards (
    shard INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    owner TEXT    NOT NULL
) STRICT;

-- How far commits have come: always one row.
CREATE TABLE commits (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    sequence INTEGER NOT NULL,        -- number of the newest commit
    last_run INTEGER NOT NULL         -- highest run number ever used
) STRICT;
INSERT INTO commits (id, sequence, last_run) VALUES (1, 0, 0);
