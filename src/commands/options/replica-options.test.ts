import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { replicasFrom } from './replica-options.ts';

const folder = mkdtempSync(join(tmpdir(), 'replica-options-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('[O255] refuses what is not the URL of a NATS server, and does not repeat credentials', () => {
  const from = (replicasNats: string) => replicasFrom({ replicasNats, replicasIntervalMs: 20 });
  for (const wrong of [
    'foo',
    'foo:4222',
    'http://foo:4222',
    'nats://',
    'nats://a:1/b',
    'nats://a,',
  ])
    expect(() => from(wrong)).toThrow('is not the URL of a NATS server: give nats://host:port');
  expect(() => from('nats://user:secret@foo:4222')).toThrow(
    '--replicas-nats: has credentials: give them with --replicas-nats-creds',
  );
  for (const right of [
    'nats://n',
    'tls://[::1]:4222',
    'nats://10.0.0.1:4222, nats://10.0.0.2:4222/',
  ])
    expect(from(right)?.servers).toBe(right);
});

it('[T125] says of an interval that is too long how long it may be', () => {
  const flags = { replicasNats: 'nats://n', replicasIntervalMs: 51 };
  expect(() => replicasFrom(flags)).toThrow(
    '--replicas-interval-ms: 51 ms are too long; give at most 50',
  );
});

it.skipIf(process.platform === 'win32')(
  '[V294] refuses a pipe in the place of each file of NATS, and does not wait',
  () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const own = { replicasNats: 'tls://127.0.0.1:1', replicasIntervalMs: 20 };
    for (const flags of [
      { replicasKeyFile: pipe },
      { replicasNatsCreds: pipe },
      { replicasNatsCa: pipe },
      { replicasNatsCert: pipe, replicasNatsKey: pipe },
    ]) {
      expect(() => replicasFrom({ ...own, ...flags })).toThrow(`${pipe} is not a file`);
    }
  },
);
