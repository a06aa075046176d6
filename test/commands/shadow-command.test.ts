import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shadowTable } from '../../src/commands/output/shadow-table.ts';
import { parityPage } from '../../src/lab/report/parity-page.ts';
import type { ShadowStatus } from '../../src/shadow/start-shadow.ts';
import { PROGRAM } from '../support/programs/program.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'pointsman-shadow-'));

const calibration = {
  firstTokens: 100,
  predictedMs: 4000,
  observedMs: 6000,
  absoluteErrorMs: 2000,
};
const all = {
  decisions: 9000,
  agreed: 6750,
  disputed: 0,
  placed: [7200, 1000, 500, 300, 200],
  predicted: 9000,
  primaryTtftMs: 450_000,
  shadowTtftMs: 360_000,
  bestTtftMs: 342_000,
  calibration,
};
const gain = { decisions: 9000, percent: 20, meanMs: 10, lowPercent: 15, highPercent: 25 };
const parity = {
  all,
  kinds: {},
  calibration: [{ upToMs: 64, ...calibration }],
  gain,
  ownDecisions: 0,
};
const shadows: readonly ShadowStatus[] = [
  { name: 'mine', running: true, parity, restarts: 0, dropped: 0, waiting: 12_345 },
];

/** Stands for a picker's metrics port. */
let server: Server;
let admin: string;
beforeAll(async () => {
  server = createServer((_request, response) => void response.end(JSON.stringify({ shadows })));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  admin = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const shadow = (...flags: readonly string[]): Promise<{ readonly stdout: string }> =>
  run(process.execPath, [PROGRAM, 'shadow', ...flags, '--admin', admin]);

describe('pointsman shadow', () => {
  it.each(['five', '101', '-1', '--json'])(
    '[V237] refuses %s as the percentage of a promotion, and says what it may be',
    async (percent) => {
      const asked = shadow('promote', 'mine', '--percent', percent);
      await expect(asked).rejects.toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/percent <n>.*is invalid.*a number from 0 to 100/) as string,
      });
    },
  );

  it('[O45] [O522] prints one table into a pipe, without control characters, that explains its difference', async () => {
    const { stdout } = await shadow('top');
    expect(stdout).not.toContain('\u001b');
    expect(stdout.match(/TTFT difference {2}/g)).toHaveLength(1);
    expect(stdout).toContain('-10.0 ms, -20.0 % (-25.0 to -15.0 %)');
    expect(stdout).toMatch(
      /TTFT difference: [^]*below 0 the shadow is better; in brackets\nits 95 % interval, once there are 5,000 decisions\n$/,
    );
  });

  it('[O260] [O520] leaves columns out that a narrow terminal has no room for, and names them', () => {
    const lines = shadowTable(shadows, 80).split('\n');
    const [heads = '', , ...notes] = lines;
    const note = notes.join(' ').replaceAll(/ +/g, ' ');
    expect(heads).toMatch(/^shadow {2}decisions {2}same endpoint .*TTFT difference/);
    // Notes are broken between words.
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(note).toMatch(
      /^in a wider terminal also: .*observed\/predicted, restarts, dropped, waiting TTFT d/,
    );
    expect(shadowTable(shadows)).not.toContain('in a wider terminal');
    expect(shadowTable(shadows, 20)).toMatch(/^shadow {2}decisions\n/);
  });

  it('[G297] shows how many records wait for a shadow, in the table and in the report', () => {
    expect(shadowTable(shadows)).toMatch(/ waiting\n.* 12,345\n/);
    expect(parityPage('Shadows', shadows, [])).toContain('records waiting: 12,345');
  });

  it('[O502] marks thousands in its counts and times', () => {
    const slow = { ...all, shadowTtftMs: 9000 * 2050, decisions: 12_345 };
    const own = { ...parity, all: slow, ownDecisions: 2000, replacement: { undecided: 3000 } };
    const [one] = shadows;
    const table = shadowTable([{ ...one, parity: own, dropped: 4000 } as unknown as ShadowStatus]);
    for (const text of ['12,345', '2,000.0 ms', '4,000', 'left 3,000 requests', 'itself 2,000'])
      expect(table).toContain(text);
    const page = parityPage('Shadows', [{ ...one, parity: own } as unknown as ShadowStatus], []);
    expect(page).toContain('2,000.0');
  });

  it('[O527] says of an older picker, which does not say how many records wait, that this is not known', () => {
    const { waiting: _waiting, ...older } = shadows[0] as ShadowStatus;
    expect(shadowTable([older as ShadowStatus])).toMatch(/ waiting\n.* 0 +-\n/);
    expect(parityPage('Shadows', [older as ShadowStatus], [])).not.toMatch(/NaN|undefined/);
  });

  it('[O527] says in the report, too, which requests the scheduler of a shadow left to its profiles', () => {
    const replacement = { name: 'r', undecided: 209, reasons: { disconnected: 209 } };
    const empty = { ...all, decisions: 0 };
    const left = { ...shadows[0], parity: { ...parity, all: empty, replacement } } as ShadowStatus;
    const said =
      'its scheduler left 209 requests to the profiles, which are not compared (209 disconnected)';
    expect(shadowTable([left])).toContain(`\nmine: ${said}; pointsman scheduler check asks it\n`);
    expect(parityPage('Shadows', [left], [])).toContain(
      `mine has decided nothing yet. But ${said}`,
    );
  });

  it('[O507] says why there is no difference of times, and says nothing where there is one', () => {
    const [one] = shadows;
    const without = { ...one, parity: { ...parity, all: { ...all, predicted: 0 } } };
    const note = 'mine: times are predicted only with approx-prefix-cache-producer';
    expect(shadowTable([without as ShadowStatus])).toContain(`\n${note}`);
    expect(shadowTable(shadows)).not.toContain('predicted only');
    expect(parityPage('Shadows', [without as ShadowStatus], [])).toMatch(
      /decisions; times are predicted only with approx-prefix-cache-producer in /,
    );
  });

  it('[D383] says how often no endpoint scores more than the chosen one', async () => {
    const { stdout } = await shadow('top');
    const [heads = '', line = ''] = stdout.split('\n');
    const cell = heads.split(/\s{2,}/).indexOf('scored best');
    expect(line.split(/\s{2,}/)[cell]).toBe('80.0 %');
  });

  it('[D480] [O514] says beside an observed picker why decisions differ, in the table and on the page', async () => {
    expect(shadowTable(shadows)).not.toContain('looked at');
    const why = { same: 77, tie: 7, 'not-scored': 0, samples: 15, unexplained: 1 };
    const drawn = { same: 25, tie: 5, 'not-scored': 0, samples: 20, unexplained: 50 };
    const observed = [{ ...shadows[0], parity: { ...parity, explained: { why, drawn } } }];
    const sentence =
      'of a sample of 100 decisions 77.0 % have the same endpoint, 7.0 % are ties, 0.0 % went to an endpoint that is left out here, 15.0 % follow from earlier samples, 1.0 % are not explained; of endpoints drawn at random 50.0 % would not be';
    expect(shadowTable(observed as readonly ShadowStatus[])).toContain(`\nmine: ${sentence}\n`);
    expect(parityPage('Shadows', observed as readonly ShadowStatus[], [])).toContain(
      `mine, beside the observed picker: ${sentence}.`,
    );
  });

  it('[O40] writes a page that begins with the verdict', async () => {
    const page = join(folder, 'shadows.html');
    await shadow('report', page);
    expect(readFileSync(page, 'utf8')).toContain(
      'mine chooses the same endpoint in 75.0 % of 9,000 decisions; its first tokens would come 20.0 % sooner (95 % interval of the gain: 15.0 to 25.0 %).',
    );
  });

  it('[O44] does not write the page over the token', async () => {
    const token = join(folder, 'token');
    writeFileSync(token, 'a'.repeat(40), { mode: 0o600 });
    await expect(shadow('report', token, '--admin-token-file', token)).rejects.toThrow(
      /which writing would destroy/,
    );
    expect(readFileSync(token, 'utf8')).toBe('a'.repeat(40));
  });
});
