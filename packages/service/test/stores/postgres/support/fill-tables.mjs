/** The positions of the first runs, above those of the sequence. */
const FIRST = 1_000_000_000;
const FIRST_QUEUED = 2_000_000_000;
const ADVANCE = "SELECT setval('positions', 3000000000 + nextval('positions'))";

/**
 * The statements that fill the tables of a schema as ended runs leave them: two runs of each thread, with a text of many
 * deltas. Every hundredth run is suspended with an approval.
 *
 * @param {{ threads: number, eventsPerRun: number, principals: number }} size
 * @returns {readonly string[]}
 */
export function fillTables({ threads, eventsPerRun, principals }) {
  const last = eventsPerRun - 1;
  const isWaiting = `run % 100 = 0`;
  return [
    `INSERT INTO threads SELECT 'thr_' || thread, to_json('p' || thread % ${principals})::text, '"A title"', '""', NULL, 1, 1,
      nextval('positions'), 'a title', NULL, 0 FROM generate_series(0, ${threads - 1}) AS thread`,
    `INSERT INTO transcripts SELECT ${FIRST} + run,
      '[{"type":"message","id":"item_u","role":"user","content":"Hello"}]', 'hello'
      FROM generate_series(0, ${2 * threads - 1}) AS run`,
    `INSERT INTO runs SELECT 'run_' || run, ${FIRST} + run, 'thr_' || run / 2, 'turn_' || run,
      to_json('p' || run / 2 % ${principals})::text, '""', CASE WHEN ${isWaiting} THEN 'suspended' ELSE 'completed' END, 'new', 1,
      '{}', NULL, NULL, NULL, NULL, 0, NULL, 1, 1, NULL, ${FIRST} + run, 0, NULL, '[]' FROM generate_series(0, ${2 * threads - 1}) AS run`,
    `INSERT INTO approvals SELECT 'apr_' || run, nextval('positions'), 'run_' || run, 'thr_' || run / 2,
      to_json('p' || run / 2 % ${principals})::text, '{}', 1, NULL, CASE WHEN ${isWaiting} THEN 'pending' ELSE 'approved' END,
      NULL, NULL, NULL FROM generate_series(0, ${2 * threads - 1}, 10) AS run`,
    `INSERT INTO events SELECT ${FIRST} + run, seq, length(event), event FROM (
      SELECT run, seq, json_build_object('event_id', 'evt_' || run || '_' || seq, 'run_id', 'run_' || run,
        'thread_id', 'thr_' || run / 2, 'turn_id', 'turn_' || run, 'seq', seq, 'timestamp', 1750000000000 + seq,
        'payload', CASE seq
          WHEN 0 THEN '{"type":"response_start"}'::json
          WHEN 1 THEN '{"type":"item_start","item_id":"item_a","item_type":"message"}'::json
          WHEN ${last - 1} THEN '{"type":"item_done","item_id":"item_a","final_item":{"type":"message","id":"item_a","role":"assistant","content":"Hi"}}'::json
          WHEN ${last} THEN '{"type":"response_done","status":"completed"}'::json
          ELSE '{"type":"item_delta","item_id":"item_a","delta":"some words of an answer "}'::json END)::text AS event
      FROM generate_series(0, ${2 * threads - 1}) AS run, generate_series(0, ${last}) AS seq) AS made`,
    `INSERT INTO scripts SELECT 'scr_' || script, 1, '""', 0, 0, CASE WHEN script % 2 = 0 THEN 'suspended' ELSE 'ended' END,
      to_json('thr_' || script)::text, to_json('run_' || script)::text, to_json('p' || script % ${principals})::text, '{"state":"suspended"}', NULL, 0, 0, 1, NULL,
      script FROM generate_series(0, ${threads - 1}) AS script`,
    `INSERT INTO heaps SELECT encode(sha256(convert_to(to_json('p' || heap % ${principals})::text, 'UTF8')), 'hex'), 'heap_' || heap,
      heap, NULL, 0, 'thr_' || heap, '{}', '[]', 5, 1, '\\x0102ff' FROM generate_series(0, ${threads - 1}) AS heap`,
    ADVANCE,
    'ANALYZE',
  ];
}

/**
 * The statements that add a long queue: runs with other needs, each of its own principal, then many runs of one noisy
 * principal, then a few of others. Each run has a separate thread.
 *
 * @param {{ noisy: number, quiet: number, unopened?: number }} size
 * @returns {readonly string[]}
 */
export function fillQueue({ noisy, quiet, unopened = 0 }) {
  const principal = `to_json(CASE WHEN run < 0 THEN 'waiting' || run WHEN run < ${noisy} THEN 'noisy' ELSE 'quiet' || run END)::text`;
  const all = `generate_series(${-unopened}, ${noisy + quiet - 1}) AS run`;
  return [
    `INSERT INTO threads SELECT 'thr_q' || run, ${principal}, '""', '""', NULL, 1, 1, nextval('positions'), '', NULL, 0 FROM ${all}`,
    `INSERT INTO transcripts SELECT ${FIRST_QUEUED} + run, '[]', '' FROM ${all}`,
    `INSERT INTO runs SELECT 'run_q' || run, ${FIRST_QUEUED} + run, 'thr_q' || run, 'turn_q' || run, ${principal}, '""', 'queued',
      'new', 0, '{}', NULL, NULL, NULL, NULL, 0, NULL, 1, 1, NULL, ${FIRST_QUEUED} + run, 0, NULL,
      CASE WHEN run < 0 THEN '["key:other"]' ELSE '[]' END FROM ${all}`,
    ADVANCE,
    'ANALYZE',
  ];
}
