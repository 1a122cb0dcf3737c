-- Steadfast, schema 5: commits as they came, which are not in the other tables yet.

-- While work goes on, the newest second of it is here, and in the tables a moment after nobody writes.
CREATE TABLE packed_commits (
    sequence INTEGER PRIMARY KEY,     -- number of the commit
    data     BLOB NOT NULL            -- a format number and a protobuf message: all that it changes
) STRICT;
