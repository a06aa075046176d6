import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { auditVerdict } from './audit-verdict.ts';

/**
 * `npm run audit`: asks the registry for known vulnerabilities of what is shipped. Exits 1 for one
 * that is high or critical. A registry that cannot be asked is said, and is no failure.
 */

const root = dirname(dirname(import.meta.dirname));
const ASK_MS = 60_000;

const { stdout, error } = spawnSync(
  'npm',
  ['audit', '--omit=dev', '--json', '--fetch-retries=0', '--fetch-timeout=20000'],
  { cwd: root, encoding: 'utf8', timeout: ASK_MS, stdio: ['ignore', 'pipe', 'ignore'] },
);
const { text, failed } = auditVerdict(error === undefined ? stdout : '');
process.stdout.write(`${text}\n`);
process.exitCode = failed ? 1 : 0;
