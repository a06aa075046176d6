import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { serveCommand } from '../../src/commands/serve-command.ts';

const unit = readFileSync(
  join(import.meta.dirname, '../../deploy/systemd/pointsman.service'),
  'utf8',
);
const analyze = (args: readonly string[]) =>
  spawnSync('systemd-analyze', [...args], { encoding: 'utf8', timeout: 60_000 });
const hasSystemd = analyze(['--version']).status === 0;
if (!hasSystemd)
  process.stderr.write('SKIPPED: systemd reads its unit. No systemd-analyze here.\n');

const folder = mkdtempSync(join(tmpdir(), 'pointsman-unit-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('[P50] the image and the unit have the C library keep freed memory in two places', () => {
  const image = readFileSync(join(import.meta.dirname, '../../deploy/Dockerfile'), 'utf8');
  // In the stage that is started, not in the one that builds.
  const started = image.slice(image.lastIndexOf('FROM '));
  expect(started).toMatch(/^ENV .*\bMALLOC_ARENA_MAX=2\b/m);
  expect(unit).toMatch(/^Environment=.* MALLOC_ARENA_MAX=2\b/m);
});

describe('the systemd unit', () => {
  test.skipIf(!hasSystemd)(
    '[O106] is read by systemd without a warning, and denies the service most rights',
    () => {
      const path = join(folder, 'pointsman.service');
      // systemd also checks that the program is there.
      writeFileSync(path, unit.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
      const { status, stdout, stderr } = analyze(['verify', '--man=no', path]);
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
      const rated = analyze(['security', '--offline=true', '--no-pager', path]).stdout;
      const [, exposure = '10'] = /exposure level for \S+: ([\d.]+)/.exec(rated) ?? [];
      expect(Number(exposure)).toBeLessThan(2);
    },
  );

  test('[O202] takes more flags from the environment file, each as a word of its own', () => {
    const [, line = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
    // Systemd splits $FLAGS at spaces, and would give ${FLAGS} as one argument.
    expect(line).toMatch(/ \$FLAGS$/);
    expect(unit).toMatch(/^Environment=.* FLAGS= /m);
    expect(unit).toMatch(/^StateDirectory=pointsman$/m);
  });

  test('[O106] waits longer for its end than the picker takes, and gives flags that there are', () => {
    const options = new Map(
      serveCommand().options.map(({ long, defaultValue }) => [long ?? '', defaultValue]),
    );
    const [, stopS = '0'] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? [];
    const defaults = ['--drain-notice-ms', '--drain-timeout-ms'].map((name) => options.get(name));
    const endMs = defaults.reduce((sum, value) => sum + Number(value), 0);
    expect(1000 * Number(stopS)).toBeGreaterThan(endMs);
    const [, line = ''] = /^ExecStart=\S+ serve (.*)$/m.exec(unit) ?? [];
    const flags = [...line.matchAll(/--[a-z-]+/g)].map(([name]) => name);
    expect(flags.length).toBeGreaterThan(0);
    for (const flag of flags) expect(options.has(flag), flag).toBe(true);
  });
});
