import { globSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Files of tests run one after another in one of three processes for all of them, so that each loads
 * a module once: most files took longer to load than to run. These need a process of their own, and
 * this is why.
 */
export const OWN_PROCESS: Readonly<Record<string, string>> = {
  'bench/support/go-program.test.ts': 'sets variables of the environment',
  'src/commands/options/pool-options.test.ts': 'sets variables of the environment',
  'src/commands/output/progress.test.ts': 'reads what the process writes',
  'src/extproc/http2/connection.test.ts': 'watches a method of all connections',
  'src/extproc/http2/stream-sending.test.ts': 'watches a method of all streams',
  'src/io-workers/adopted-reading.test.ts': 'follows the workers of the process',
  'src/io-workers/io-worker-thread.test.ts': 'follows the workers of the process',
  'src/endpoints/kv-events/blocks/resident-blocks.test.ts': 'watches a method of all arrays',
  'src/shadow/shadow-storm.test.ts': 'replaces the threads of the process',
  'src/shadow/start-shadow.test.ts': 'reads the priorities of the threads of the process',
  'src/journal/explain/last-flow-stays.test.ts': 'measures the memory of the process',
  'src/runtime/network/client/named-authorities.test.ts': 'changes what the process trusts',
  'src/runtime/network/pieces/packed-pieces.test.ts': 'measures the memory of the process',
  'src/runtime/network/server/merged-pieces.test.ts': 'measures the memory of the process',
  'src/runtime/network/zmq/zmq-connect.test.ts': 'holds the timers of the process',
  'src/runtime/network/zmq/zmtp-connection.test.ts': 'holds the timers of the process',
  'src/sidecar/body/client-body.test.ts': 'watches a method of all scanners',
  'src/sidecar/bounds.test.ts': 'measures the memory of the process',
  'src/sidecar/long-bodies.test.ts': 'watches a method of all scanners',
  'src/telemetry/tracing/renewed-sender.test.ts': 'sets variables of the environment',
  'test/commands/check-command.test.ts': 'reads what the process writes',
  'test/decision/prefill-speeds.test.ts': 'watches a method of all engine models',
  'test/docs/code-blocks.test.ts': 'reads what the process writes',
  'test/docs/readme.test.ts': 'reads what the process writes',
  'test/io-workers/io-workers.test.ts': 'follows the workers of the process',
};

/** Folders with tests. */
const FOLDERS: readonly string[] = ['bench', 'scorers', 'src', 'stub-server', 'test'];

const root = dirname(dirname(import.meta.dirname));

/** The files that share a process, by their paths from the root of the tree. */
export function sharedFiles(): string[] {
  const patterns = FOLDERS.map((folder) => `${folder}/**/*.test.ts`);
  const isShared = (file: string): boolean =>
    OWN_PROCESS[file] === undefined && !file.endsWith('.long.test.ts');
  return globSync(patterns, { cwd: root }).filter(isShared).sort();
}
