-- Steadfast, schema 2: finds activities that were tried again.

-- The first five attempts of an activity are always kept, so that one of them stands for it.
CREATE INDEX attempts_by_number ON attempts (attempt, run, activity) WHERE attempt BETWEEN 2 AND 5;
