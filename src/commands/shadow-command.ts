import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { refuseOverwriting } from '../files/writing/refuse-overwriting.ts';
import { writeWhole } from '../files/writing/write-whole.ts';
import type { PromotionStatus } from '../promotion/promotion.ts';
import { promotionText } from '../promotion/promotion-text.ts';
import { needPackages } from '../runtime/need-packages.ts';
import type { ShadowStatus } from '../shadow/start-shadow.ts';
import { type AdminFlags, addAdminOptions, askPicker } from './admin-client/ask-picker.ts';
import { CommandFailure } from './admin-client/command-errors.ts';
import { percent as percentOf } from './options/option-values.ts';
import { endAtKey } from './output/end-at-key.ts';
import { stdoutColumns } from './output/fitting-columns.ts';
import { printable } from './output/printable.ts';
import { originFacts } from './output/report-facts.ts';
import { shadowTable } from './output/shadow-table.ts';

interface Flags extends AdminFlags {
  readonly json: boolean;
}

const REFRESH_MS = 1000;
const CLEAR = '\u001b[2J\u001b[H';

/** `pointsman shadow`: asks a running picker about its shadows, or promotes one. */
export function shadowCommand(): Command {
  return new Command('shadow')
    .description('compare and promote the shadows of a picker, which `serve --shadow` starts')
    .addCommand(comparisonCommand())
    .addCommand(reportCommand())
    .addCommand(promotionCommand('promote', 'let a shadow decide a share of the requests'))
    .addCommand(promotionCommand('demote', 'let no shadow decide requests'))
    .addCommand(promotionCommand('promotion', 'show which shadow decides, its results, and why'));
}

function comparisonCommand(): Command {
  return addAdminOptions(new Command('top'))
    .description('compare the shadows of a running picker with it, updated every second; q ends it')
    .option('--once', 'print once and exit, as into a pipe', false)
    .option('--json', 'print one JSON document and exit', false)
    .action(async ({ once, json, ...flags }: Flags & { once: boolean }) => {
      // A pipe gets one table: later ones would be appended to it.
      const again = !once && !json && process.stdout.isTTY;
      if (again) endAtKey();
      do {
        const shadows = await ask(flags);
        if (json) process.stdout.write(`${JSON.stringify({ shadows })}\n`);
        else process.stdout.write((again ? CLEAR : '') + printable(tableOf(shadows)));
        if (again) await sleep(REFRESH_MS);
      } while (again);
    });
}

function reportCommand(): Command {
  return addAdminOptions(new Command('report'))
    .description('write the comparison as one self-contained HTML page')
    .argument('<page>', 'file to write')
    .action(async (page: string, flags: AdminFlags) => {
      const { adminTokenFile } = flags;
      needPackages('shadow report', ['echarts']);
      refuseOverwriting(page, adminTokenFile ? [adminTokenFile] : [], 'shadows.html');
      const shadows = await ask(flags);
      if (shadows.length === 0) throw new CommandFailure(NO_SHADOWS);
      // Imported on demand, because the chart library is large.
      const { parityPage } = await import('../lab/report/parity-page.ts');
      const names = shadows.map(({ name }) => name).join(', ') || 'none';
      const facts = [['Picker', flags.admin], ['Shadows', names], ...originFacts()] as const;
      writeWhole(page, [parityPage(`Shadows at ${flags.admin}`, shadows, facts)]);
    });
}

const NO_SHADOWS = 'no shadows: start the picker with --shadow <file|name>';

function tableOf(shadows: readonly ShadowStatus[]): string {
  return shadows.length === 0 ? `${NO_SHADOWS}\n` : shadowTable(shadows, stdoutColumns());
}

const NO_PROMOTION =
  'this picker promotes nothing: start it with --shadow <file|name> and --promotion; see docs/promotion.md';

function promotionCommand(name: 'promote' | 'demote' | 'promotion', about: string): Command {
  const command = addAdminOptions(new Command(name))
    .description(`${about}; needs \`serve --promotion\`, see docs/promotion.md`)
    .option('--json', 'print one JSON document', false);
  if (name === 'promote') {
    command
      .argument('<shadow>', 'name of the shadow, as given to --shadow')
      .requiredOption(
        '--percent <n>',
        'percentage of requests that it decides, from 0 to 100',
        percentOf,
      );
  }
  return command.action(async (...given: readonly unknown[]) => {
    const { json, percent, ...flags } = command.opts<Flags & { percent: number }>();
    const query = new URLSearchParams(
      name === 'promote' ? { shadow: String(given[0]), percent: String(percent) } : {},
    );
    const path = name === 'promotion' ? '/debug/promotion' : `/${name}?${query.toString()}`;
    const method = name === 'promotion' ? 'GET' : 'POST';
    const status = await askPicker<PromotionStatus>({
      ...flags,
      path,
      method,
      absent: NO_PROMOTION,
    });
    const dated = (wallMs: number): string => new Date(wallMs).toISOString();
    process.stdout.write(
      json ? `${JSON.stringify(status)}\n` : printable(promotionText(status, dated)),
    );
  });
}

async function ask(flags: AdminFlags): Promise<readonly ShadowStatus[]> {
  const question = { ...flags, path: '/debug/shadows' };
  return (await askPicker<{ shadows: readonly ShadowStatus[] }>(question)).shadows;
}
