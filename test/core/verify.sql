-- Every table of ours that the core suite left behind is sound.
SELECT v.*
FROM pg_class c
JOIN pg_am a ON a.oid = c.relam AND a.amname = 'toaster'
CROSS JOIN LATERAL toaster.verify(c.oid::regclass) v
WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't';
