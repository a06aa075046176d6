import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { readCommandLine } from '../../stub-server/engine-args/read-command-line.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { PROGRAM } from '../support/programs/program.ts';
import { MANIFEST_ARGS, MANIFEST_FILES } from './simulator-manifests.ts';

/** What the kubelet gives the containers of those manifests. */
const ENVIRONMENT = { POD_NAME: 'sim-7d-x', POD_NAMESPACE: 'llm', POD_IP: '127.0.0.1' };
const SIMULATOR = { own: {}, ownNames: [], environment: ENVIRONMENT, asSimulator: true };

let pool: StubPool | undefined;
afterEach(async () => {
  await pool?.stop();
  pool = undefined;
});

/** Starts a server on a free port of the loopback and asks it for three tokens. */
async function ask(options: Readonly<Record<string, unknown>>): Promise<Response> {
  const parsed = stubOptions.parse({ ...options, port: 0, host: '127.0.0.1' });
  pool = await startStubPool(parsed);
  const url = `http://${pool.endpoints[0]?.address}/v1/chat/completions`;
  const messages = [{ role: 'user', content: 'hello' }];
  const body = JSON.stringify({ model: parsed.model, messages, max_tokens: 3 });
  const headers = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body });
}

describe('llm-d-inference-sim’s', () => {
  test.each(MANIFEST_ARGS)('[B14] arguments of %s start a server', async (_, args) => {
    const response = await ask(readCommandLine({ ...SIMULATOR, args }).options);
    expect(response.status).toBe(200);
    const { choices } = (await response.json()) as {
      choices: { message: { content: string } }[];
    };
    expect(choices[0]?.message.content).not.toBe('');
    expect(response.headers.get('x-inference-pod')).toBe('sim-7d-x');
    expect(response.headers.get('x-inference-namespace')).toBe('llm');
  });

  test.each(Object.entries(MANIFEST_FILES))('[B14] settings %s start a server', async (_, text) => {
    const file = { name: 'config.yaml', text };
    const { options } = readCommandLine({ ...SIMULATOR, args: [], file });
    expect((await ask(options)).status).toBe(200);
  });

  test('[B14] arguments start the program, whose probes and ports are the same', async () => {
    const args = [PROGRAM, '--model=m', '--host=127.0.0.1', '--port=0', '--tensor-parallel-size=2'];
    const child = execFile(process.execPath, args, { env: { ...process.env, ...ENVIRONMENT } });
    let log = '';
    child.stderr?.on('data', (text: string) => {
      log += text;
    });
    try {
      const [line] = (await once(child.stdout ?? child, 'data')) as [string];
      const url = `http://${line.trim()}`;
      for (const probe of ['/health', '/health/ready', '/ready', '/metrics', '/v1/models']) {
        expect([probe, (await fetch(url + probe)).status]).toEqual([probe, 200]);
      }
      expect(log.trim().split('\n')).toHaveLength(1);
      expect(log).toContain('--tensor-parallel-size');
    } finally {
      child.kill();
      await once(child, 'exit');
    }
  });
});
