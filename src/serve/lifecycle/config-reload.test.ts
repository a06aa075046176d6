import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import { planFrom } from '../../catalogue/plan.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { createLog } from '../../runtime/log/log.ts';
import { startConfigReload } from './config-reload.ts';

it('[O473] a configuration file that is empty at the start is not refused, as the default decides', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-empty-'));
  const path = join(folder, 'mine.yaml');
  writeFileSync(path, '\n');
  const read = Promise.withResolvers<void>();
  const refused: unknown[] = [];
  const reload = startConfigReload({
    file: {
      path,
      read: () => {
        read.resolve();
        return '\n';
      },
      load: () => Promise.reject(new Error('has no configuration')),
    },
    plan: planFrom(path),
    adopt: () => undefined,
    registry: new Registry(),
    clock: new SimulatedClock(),
    log: { ...createLog('silent'), error: (...line) => void refused.push(line) },
  });
  onTestFinished(async () => {
    await reload.stop();
    rmSync(folder, { recursive: true });
  });
  await read.promise;
  await setImmediate();
  expect(refused).toEqual([]);
  expect(reload.lastError()).toBeUndefined();
});
