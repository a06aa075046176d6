import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { stubPoolForTests } from './stub-pool.ts';

/**
 * The official clients in Python, where an interpreter has them (`pip install openai anthropic`):
 * `python3`, or the one that POINTSMAN_PYTHON names.
 */

const python = process.env['POINTSMAN_PYTHON'] ?? 'python3';
const { status } = spawnSync(python, ['-c', 'import openai, anthropic']);
describe.skipIf(status !== 0)('the official clients in Python', () => {
  const stub = stubPoolForTests();

  it('[B218] read every answer of the stub, whole and streamed, and its errors', async () => {
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
  });
});
