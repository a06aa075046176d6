/**
 * Command lines as most people type them first, by the name of the command; `--help` begins with
 * them.
 */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  serve: [
    'pointsman serve --insecure --endpoints 10.0.0.1:8000,10.0.0.2:8000',
    'pointsman serve --endpoints-file endpoints.yaml --config mine.yaml',
  ],
  gateway: ['pointsman gateway --insecure'],
  sidecar: ['pointsman sidecar --port 8000 --engine 127.0.0.1:8200'],
  stub: ['pointsman stub --count 3 --port 8000'],
  top: ['pointsman top', 'pointsman top | head -30'],
  explain: ['pointsman explain', 'pointsman explain <request-id>'],
  'shadow top': ['pointsman shadow top'],
  'shadow report': ['pointsman shadow report page.html'],
  'shadow promote': ['pointsman shadow promote mine.yaml --percent 5'],
  'shadow demote': ['pointsman shadow demote'],
  'shadow promotion': ['pointsman shadow promotion'],
  doctor: ['pointsman doctor --envoy 127.0.0.1:19000'],
  demo: ['pointsman demo', 'pointsman demo --policies default,least-request'],
  check: ['pointsman check mine.yaml', 'pointsman check default'],
  simulate: [
    'pointsman simulate --trace trace.jsonl --pool pool.yaml --config default',
    'pointsman simulate --trace day/ --pool pool.yaml --config mine.yaml --seeds 5',
  ],
  redecide: ['pointsman redecide day/', 'pointsman redecide day/ --config mine.yaml'],
  replay: ['pointsman replay --target http://127.0.0.1:8081 --trace trace.jsonl'],
  'trace describe': ['pointsman trace describe day/'],
  'trace convert': ['pointsman trace convert day/ trace.jsonl --to mooncake'],
  'scheduler check': ['pointsman scheduler check 127.0.0.1:9100'],
  completion: ['pointsman completion bash'],
  calibrate: ['pointsman calibrate --steps steps.csv --out steps.yaml'],
};
