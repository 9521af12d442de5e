-- When the shard was last taken from an owner that had not given it back. Whoever has it later, however cleanly, leaves
-- hosts that the state does not know alone for their full delay from then on.
ALTER TABLE shards ADD COLUMN killed_at TIMESTAMPTZ;

-- What the budget was made for: whoever sets it again, or says it twice, changes it by the difference.
ALTER TABLE budgets ADD COLUMN max_pages BIGINT;

-- What the owner of a shard says of a job: all that it has there cannot be asked before a time, in milliseconds since 1970.
-- It holds while the shard has this owner and nothing more of its inbox is applied.
CREATE TABLE frontier_blocked (
    job           INTEGER NOT NULL,
    shard         INTEGER NOT NULL,
    epoch         BIGINT NOT NULL,
    applied       BIGINT NOT NULL,
    blocked_until BIGINT NOT NULL,
    PRIMARY KEY (job, shard)
) WITH (fillfactor = 50);
