-- Steadfast, schema 4: lists with smaller indexes, which are written with each start and each end.

-- Namespaces by number, as they are in the indexes of lists: an id has 36 letters.
CREATE TABLE namespace_numbers (
    number    INTEGER PRIMARY KEY,
    namespace TEXT    NOT NULL UNIQUE    -- the namespace's id
) STRICT;
INSERT INTO namespace_numbers (namespace) SELECT DISTINCT namespace FROM visibility;

-- As before, with the number in place of the id.
CREATE TABLE visibility_of_4 (
    run                INTEGER PRIMARY KEY,
    namespace          INTEGER NOT NULL, -- its number
    workflow_type      TEXT    NOT NULL,
    task_queue         TEXT    NOT NULL,
    status             INTEGER NOT NULL, -- 1 running, 2 completed, 3 failed, 4 canceled,
                                         -- 5 terminated, 6 continued as new, 7 timed out
    start_time         INTEGER NOT NULL,
    execution_time     INTEGER NOT NULL,
    close_time         INTEGER,          -- NULL while open
    list_time          INTEGER NOT NULL, -- what lists are ordered by: close_time, and for those
                                         -- that are open the end of time, 9223372036854775807
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
INSERT INTO visibility_of_4 (run, namespace, workflow_type, task_queue, status, start_time, execution_time,
        close_time, list_time, history_length, history_size, state_transitions,
        parent_workflow_id, parent_run_id, root_workflow_id, root_run_id, memo, search_attributes)
    SELECT run, number, workflow_type, task_queue, status, start_time, execution_time,
        close_time, list_time, history_length, history_size, state_transitions,
        parent_workflow_id, parent_run_id, root_workflow_id, root_run_id, memo, search_attributes
    FROM visibility JOIN namespace_numbers USING (namespace) ORDER BY run;
DROP TABLE visibility;
ALTER TABLE visibility_of_4 RENAME TO visibility;

-- Read backwards: open runs, then the newest close, then the newest start.
-- Running ones are found here: they are without a close time, all of them.
CREATE INDEX visibility_by_time ON visibility
    (namespace, list_time, start_time, run, status);
CREATE INDEX visibility_by_type ON visibility
    (namespace, workflow_type, list_time, start_time);
-- All others by their status.
CREATE INDEX visibility_by_status ON visibility
    (namespace, status, list_time, start_time) WHERE status <> 1;
