-- Steadfast, schema 3: what has failed and is not settled, and more about each attempt.

-- One row for each activity, workflow task or run that is in trouble. What never fails has none.
CREATE TABLE errors (
    run                 INTEGER NOT NULL,
    subject             INTEGER NOT NULL,  -- id of the activity's scheduled event;
                                           -- 0: the run itself, -1: its workflow task
    namespace           TEXT    NOT NULL,
    workflow_type       TEXT    NOT NULL,
    activity_id         TEXT    NOT NULL,
    activity_type       TEXT    NOT NULL,
    kind                TEXT    NOT NULL,
    state               INTEGER NOT NULL,  -- 1 retrying, 2 parked, 3 failed, 4 dead
    attempts            INTEGER NOT NULL,
    error_type          TEXT    NOT NULL,
    cause               TEXT    NOT NULL,
    cause_hash          INTEGER NOT NULL,  -- stands for the cause where that is too long
    fingerprint         INTEGER NOT NULL,  -- equal for errors that differ only in numbers and ids
    first_at            INTEGER NOT NULL,
    last_at             INTEGER NOT NULL,
    next_at             INTEGER,           -- when it is tried again or resumed
    reason              TEXT    NOT NULL,
    acknowledged_at     INTEGER,
    acknowledged_by     TEXT    NOT NULL,
    acknowledged_reason TEXT    NOT NULL,
    resumes             INTEGER NOT NULL,
    PRIMARY KEY (run, subject)
) STRICT, WITHOUT ROWID;
-- Pages, newest first. With the state beside the place, those that are not asked for are skipped
-- without looking at their rows.
CREATE INDEX errors_by_time ON errors (namespace, last_at, run, subject, state,
    acknowledged_at);
-- Groups, and pages of one kind: all that these need, in the order in which most groups are.
CREATE INDEX errors_by_kind ON errors (namespace, workflow_type, activity_type, fingerprint,
    cause_hash, state, acknowledged_at, attempts, first_at, last_at);

ALTER TABLE attempts ADD COLUMN rule   TEXT    NOT NULL DEFAULT ''; -- the rule that decided
ALTER TABLE attempts ADD COLUMN layer  TEXT    NOT NULL DEFAULT ''; -- whose rule it was
ALTER TABLE attempts ADD COLUMN policy TEXT    NOT NULL DEFAULT ''; -- the policy it is from
ALTER TABLE attempts ADD COLUMN source TEXT    NOT NULL DEFAULT ''; -- where the delay is from
ALTER TABLE attempts ADD COLUMN delay  INTEGER;                     -- in nanoseconds
ALTER TABLE attempts ADD COLUMN class  TEXT    NOT NULL DEFAULT ''; -- what kind of failure it was
ALTER TABLE attempts ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;  -- 1: it was parked after it
