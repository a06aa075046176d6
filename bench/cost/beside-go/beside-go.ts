import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { buildKubernetes } from '../../support/kubernetes-binaries.ts';
import { buildReferenceEpp } from '../../support/reference-epp.ts';
import { unitOf } from '../row.ts';
import { goTable } from './go-table.ts';
import { type GoTiming, measureGroup } from './measure-group.ts';
import { type GoResult, goVerdict, resultOf } from './result.ts';
import { GO_GROUPS, type GoRow } from './rows.ts';
import type { GoTools } from './sides.ts';
import { startSite } from './site.ts';

const run = promisify(execFile);

export interface GoOptions {
  readonly rows: readonly GoRow[];
  readonly pairs: number;
  readonly timing: GoTiming;
}

export interface GoReport {
  readonly results: readonly GoResult[];
  /** The module and version of the Go picker, and the Go that has built it. */
  readonly version: string;
  readonly goVersion: string;
}

/** Measures ours beside the Go picker; or says why there is none. */
export async function measureBesideGo(
  { rows, pairs, timing }: GoOptions,
  tools: Omit<GoTools, 'epp'>,
  say: (line: string) => void,
): Promise<GoReport | { readonly unavailable: string }> {
  const kubernetes = await buildKubernetes(say);
  if ('unavailable' in kubernetes) return kubernetes;
  const built = await buildReferenceEpp(say);
  if ('unavailable' in built) return built;
  const results: GoResult[] = [];
  const from = performance.now();
  const endpointsMax = Math.max(...rows.map(({ endpoints }) => endpoints));
  const site = await startSite(endpointsMax, { kubernetes, log: tools.log });
  try {
    for (const group of GO_GROUPS) {
      const wanted = group.filter((row) => rows.includes(row));
      const more = { ...tools, epp: built.path, pairs, timing };
      for (const measured of await measureGroup(wanted, site, more)) {
        const result = resultOf(measured);
        results.push(result);
        const seconds = ((performance.now() - from) / 1000).toFixed(0);
        say(`[${results.length}/${rows.length}, ${seconds} s] ${lineOf(result)}`);
      }
    }
  } finally {
    await site.stop();
  }
  return { results, version: built.version, goVersion: await goVersionOf(built.path) };
}

async function goVersionOf(program: string): Promise<string> {
  const { stdout } = await run('go', ['version', program]);
  return stdout.trim().split(' ').at(-1) ?? '';
}

function lineOf({ row, pickers }: GoResult): string {
  const costs = pickers.map(({ name, cpuMs, overGo }) => {
    const over = overGo.cost === undefined ? '' : ` (${overGo.cost.median.toFixed(2)} × Go)`;
    return `${name} ${cpuMs.cost?.toFixed(3) ?? '–'} ${unitOf(row)}${over}`;
  });
  return `${row.id}: ${costs.join(', ')}`;
}

/** The report as text. */
export function goText({ results, version, goVersion }: GoReport): string {
  return `\n${goTable(results, `${version}, built with ${goVersion}`)}\n`;
}

/** Whether every bound holds. */
export function goHolds({ results }: GoReport): boolean {
  return results.every((result) => goVerdict(result).holds);
}
