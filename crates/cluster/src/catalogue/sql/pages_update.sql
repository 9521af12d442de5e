-- A visit that is recorded again keeps its number, and the worker that recorded it first. Only recovery and a new owner do
-- that: mostly there is nothing to plan for.
DO $$ BEGIN
    IF EXISTS (SELECT FROM staged_known) THEN
        ANALYZE staged_known;
        ANALYZE staged_pages;
        UPDATE crawl_metadata AS stored SET
            batch = next_batch,
            repeated = true,
            archive_lost = false,
            ({columns}) = ROW({staged})
        FROM staged_known AS known
        JOIN staged_pages AS staged USING (ord)
        CROSS JOIN catalogue_clock
        WHERE stored.id = known.id
          AND stored.year_month = staged.year_month;
    END IF;
END $$;
