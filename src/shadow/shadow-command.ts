import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { ConfigError } from '../framework/error.ts';
import { parityPage } from '../report/parity-page.ts';
import type { Parity } from './parity.ts';
import { parityFigures } from './parity-figures.ts';
import type { ShadowStatus } from './start-shadow.ts';

interface TopFlags {
  readonly admin: string;
  readonly once: boolean;
  readonly json: boolean;
}

const DEFAULT_ADMIN = 'http://127.0.0.1:9090';
const REFRESH_MS = 1000;
const CLEAR = '\u001b[2J\u001b[H';

/** `pointsman shadow`. */
export function shadowCommand(): Command {
  const top = new Command('top')
    .description('how the shadows of a running picker compare with what it does, once a second')
    .option('--admin <url>', 'the picker’s metrics port', DEFAULT_ADMIN)
    .option('--once', 'print once and end', false)
    .option('--json', 'print one JSON document and end', false)
    .action(async ({ admin, once, json }: TopFlags) => {
      do {
        const shadows = await ask(admin);
        if (json) process.stdout.write(`${JSON.stringify({ shadows })}\n`);
        else process.stdout.write(`${once ? '' : CLEAR}${shadowTable(shadows)}`);
        if (!once && !json) await sleep(REFRESH_MS);
      } while (!once && !json);
    });
  const report = new Command('report')
    .description('the same as one HTML page that needs nothing else')
    .argument('<page>', 'file to write')
    .option('--admin <url>', 'the picker’s metrics port', DEFAULT_ADMIN)
    .action(async (page: string, { admin }: Pick<TopFlags, 'admin'>) => {
      const shadows = await ask(admin);
      const when = new Date().toISOString().slice(0, 16).replace('T', ' ');
      writeFileSync(page, parityPage(`Shadows at ${admin}, ${when} UTC`, shadows));
    });
  return new Command('shadow')
    .description('schedulers that decide beside the one in charge (`serve --shadow`)')
    .addCommand(top)
    .addCommand(report);
}

async function ask(admin: string): Promise<readonly ShadowStatus[]> {
  try {
    const response = await fetch(new URL('/debug/shadows', admin));
    if (!response.ok) throw new Error(`answered ${response.status}`);
    const { shadows } = (await response.json()) as { shadows: readonly ShadowStatus[] };
    return shadows;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError('shadow', [
      {
        path: '--admin',
        message: `no picker at ${admin} (${why}); is it the port of --metrics-port?`,
      },
    ]);
  }
}

const HEADS: readonly string[] = [
  'shadow',
  'decisions',
  'same endpoint',
  'in best 3',
  'predicted TTFT',
  'regret',
  'observed/predicted',
  'restarts',
  'dropped',
];

/** One block a shadow: over all, then by kind. */
export function shadowTable(shadows: readonly ShadowStatus[]): string {
  if (shadows.length === 0) return 'no shadows: start the picker with --shadow <file|name>\n';
  const lines: (readonly string[])[] = [HEADS];
  for (const { name, running, parity, restarts, dropped } of shadows) {
    const state = running ? '' : ' (down)';
    const all = parity === undefined ? HEADS.slice(1, -2).map(() => '-') : cellsOf(parity.all);
    lines.push([`${name}${state}`, ...all, String(restarts), String(dropped)]);
    const { undecided = 0 } = parity?.replacement ?? {};
    if (undecided > 0) lines.push([`  undecided ${undecided}`]);
    for (const [kind, each] of Object.entries(parity?.kinds ?? {})) {
      lines.push([`  ${kind}`, ...cellsOf(each)]);
    }
  }
  const widths = HEADS.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const padded = (cell: string, at: number): string =>
    at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0);
  return `${lines.map((line) => line.map(padded).join('  ').trimEnd()).join('\n')}\n`;
}

function cellsOf(parity: Parity): string[] {
  const figures = parityFigures(parity);
  const share = (value: number | undefined): string =>
    value === undefined ? '-' : `${(100 * value).toFixed(1)} %`;
  const ms = (value: number | undefined): string =>
    value === undefined ? '-' : `${value.toFixed(1)} ms`;
  return [
    String(parity.decisions),
    share(figures.agreement),
    share(figures.topThree),
    ms(figures.ttftDifferenceMs),
    ms(figures.shadowRegretMs),
    figures.observedOverPredicted?.toFixed(2) ?? '-',
  ];
}
