import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, type Stack, startStack } from '../../bench/support/stack.ts';
import type { Explanation } from '../../src/journal/explain/explanation.ts';
import type { DecisionLine, DecisionList } from '../../src/serve/admin/decision-documents.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { PROGRAM } from '../support/programs/program.ts';

const binary = await envoyBinary();
const run = promisify(execFile);
const REQUESTS = 40;

describe.skipIf(binary === undefined)('pointsman explain, behind a real Envoy', () => {
  let pool: StubPool;
  let stack: Stack;
  let listed: readonly DecisionLine[];

  const pointsman = (...args: readonly string[]) => run(process.execPath, [PROGRAM, ...args]);
  const admin = (): string => `127.0.0.1:${stack.serving.metricsPort}`;

  beforeAll(async () => {
    pool = await startStubPool(stubOptions.parse({ count: 4, port: 0, speed: 10, model: 'm' }));
    const endpoints = pool.endpoints.map(({ address }) => address);
    stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints });
    for (let n = 0; n < REQUESTS; n++) {
      const prompt = `${`family ${n % 3} `.repeat(200)} ${n}`;
      const response = await fetch(`${stack.url}/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', prompt, max_tokens: 2 }),
      });
      expect(response.status).toBe(200);
      await response.text();
    }
    const answer = await fetch(`http://${admin()}/debug/decisions?limit=1000`);
    listed = ((await answer.json()) as DecisionList).decisions;
  });

  afterAll(async () => {
    await stack?.stop();
    await pool?.stop();
  });

  it('finds each request by the id that Envoy gave it', async () => {
    expect(listed.length).toBe(REQUESTS);
    for (const { requestId, number, outcome } of listed) {
      expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
      const answer = await fetch(`http://${admin()}/debug/explain?id=${requestId}`);
      const explanation = (await answer.json()) as Explanation;
      expect(explanation.number).toBe(number);
      const [best] = explanation.profiles[0]?.endpoints ?? [];
      expect(outcome).toMatchObject({ endpoint: best?.endpoint, score: best?.total });
    }
  });

  it('prints one decision, as a table and as JSON', async () => {
    const [{ requestId } = { requestId: '' }] = listed;
    const { stdout: table } = await pointsman('explain', requestId, '--admin', admin());
    expect(table).toContain(`request    ${requestId}`);
    expect(table).toMatch(/→ {2}default\/127\.0\.0\.1:\d+/);
    expect(table).toContain('would have cost');
    const { stdout } = await pointsman(
      'explain',
      requestId,
      '--admin',
      `http://${admin()}`,
      '--json',
    );
    expect((JSON.parse(stdout) as Explanation).candidates.length).toBe(4);
  });

  it('[O46] lists the latest requests if none is named', async () => {
    const { stdout } = await pointsman('explain', '--admin', admin());
    // Four lines of notes follow.
    const [head, ...lines] = stdout.trimEnd().split('\n').slice(0, -4);
    expect(head?.split(/\s+/)).toEqual(
      'request age endpoint answer model tokens predicted observed waited'.split(' '),
    );
    expect(lines.map((line) => line.split(/\s+/)[0])).toEqual(
      listed.slice(0, 20).map(({ requestId }) => requestId),
    );
    const number = String.raw`[\d.,]+`;
    expect(lines[0]).toMatch(
      new RegExp(
        `${number} s  \\S+ +200 +\\S+ +${number} +${number} ms +(${number} ms|–) +${number} ms$`,
      ),
    );
  });

  it('prints an error if there is no such request, and if there is no picker', async () => {
    await expect(pointsman('explain', 'nobody', '--admin', admin())).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no request "nobody" among the last 40 decisions') as string,
    });
    await expect(pointsman('explain', 'x', '--admin', '127.0.0.1:1')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no picker at 127.0.0.1:1') as string,
    });
  });
});
