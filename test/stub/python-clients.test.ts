import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { pythonWith } from '../../bench/support/python-with.ts';
import { stubPoolForTests } from './stub-pool.ts';

const PACKAGES = ['openai==3.54.0', 'anthropic==2.12.0'];
const INSTALL_MS = 300_000;
const hasPython = spawnSync('python3', ['--version']).status === 0;

describe.skipIf(!hasPython)('the official clients in Python', () => {
  const stub = stubPoolForTests();

  it(
    '[B218] read every answer of the stub, whole and streamed, and its errors',
    async () => {
      const python = await pythonWith(PACKAGES, (line) => void process.stderr.write(`${line}\n`));
      const script = join(import.meta.dirname, 'python-clients.py');
      const { stdout } = await promisify(execFile)(python, [script, stub.url('')]);
      const seen = JSON.parse(stdout) as Record<string, unknown>;
      expect(seen['chat streamed']).toBe(seen['chat']);
      expect(seen).toMatchObject({
        completion: 5,
        response: 5,
        'response streamed': 'response.incomplete',
        embedding: 384,
        models: ['m'],
        message: 5,
        'message streamed': 'max_tokens',
        tokens: true,
        'openai error': 404,
        'anthropic error': 404,
      });
    },
    INSTALL_MS,
  );
});
