-- SPDX-License-Identifier: MIT
--
-- rowlock, schema version 8: the view lock_summary counts what lock_status shows, for
-- people and monitors that only have SQL. Of the row strategy it counts the names that
-- are known: its holds are transactions, no data, so their state is unknown to a view.
-- The oldest hold's name stands behind its time, which has 26 characters.
--
-- As in 0001 every statement can be run again.

CREATE OR REPLACE ALGORITHM=TEMPTABLE SQL SECURITY DEFINER VIEW lock_summary AS
SELECT
	'lease' AS strategy,
	kind,
	state,
	COUNT(*) AS holds,
	COUNT(DISTINCT name) AS names,
	MIN(acquired_at) AS oldest_acquired_at,
	MAX(held_s) AS oldest_held_s,
	SUBSTRING(MIN(CONCAT(acquired_at, name)), 27) AS oldest_name
FROM lock_status
GROUP BY kind, state
UNION ALL
SELECT 'row', 'lock', 'unknown', COUNT(*), COUNT(*), NULL, NULL, NULL
FROM business_lock
HAVING COUNT(*) > 0;
