import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { ConfigError } from '../framework/error.ts';
import type { Parity } from './parity.ts';
import type { ShadowStatus } from './start-shadow.ts';

interface TopFlags {
  readonly admin: string;
  readonly once: boolean;
  readonly json: boolean;
}

const REFRESH_MS = 1000;
const CLEAR = '\u001b[2J\u001b[H';

/** `pointsman shadow`. */
export function shadowCommand(): Command {
  const top = new Command('top')
    .description('how the shadows of a running picker compare with what it does, once a second')
    .option('--admin <url>', 'the picker’s metrics port', 'http://127.0.0.1:9090')
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
  return new Command('shadow')
    .description('schedulers that decide beside the one in charge (`serve --shadow`)')
    .addCommand(top);
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

/** One block a shadow: over all, then by kind. */
export function shadowTable(shadows: readonly ShadowStatus[]): string {
  if (shadows.length === 0) return 'no shadows: start the picker with --shadow <file|name>\n';
  const lines = [['shadow', 'decisions', 'same endpoint', 'predicted TTFT', 'restarts', 'dropped']];
  for (const { name, running, parity, restarts, dropped } of shadows) {
    const state = running ? '' : ' (down)';
    const all = parity === undefined ? ['-', '-', '-'] : cellsOf(parity.all);
    lines.push([`${name}${state}`, ...all, String(restarts), String(dropped)]);
    const { undecided = 0 } = parity?.replacement ?? {};
    if (undecided > 0) lines.push([`  undecided ${undecided}`, '', '', '', '', '']);
    for (const [kind, each] of Object.entries(parity?.kinds ?? {})) {
      lines.push([`  ${kind}`, ...cellsOf(each), '', '']);
    }
  }
  const widths = [0, 1, 2, 3, 4, 5].map((at) =>
    Math.max(...lines.map((line) => line[at]?.length ?? 0)),
  );
  return `${lines
    .map((line) =>
      line
        .map((cell, at) =>
          at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')}\n`;
}

function cellsOf({ decisions, agreed, predicted, primaryTtftMs, shadowTtftMs }: Parity): string[] {
  const share = decisions === 0 ? '-' : `${((100 * agreed) / decisions).toFixed(1)} %`;
  const ttft =
    predicted === 0
      ? '-'
      : `${(((shadowTtftMs - primaryTtftMs) / predicted) as number).toFixed(1)} ms`;
  return [String(decisions), share, ttft];
}
