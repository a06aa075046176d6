import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { replicasFrom } from './replica-options.ts';

const folder = mkdtempSync(join(tmpdir(), 'replica-options-'));
afterAll(() => rmSync(folder, { recursive: true }));

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
