import type { Millis } from '../../framework/runtime.ts';
import { grouped } from '../../framework/values/grouped.ts';
import { tableWithin } from '../../framework/values/text-table.ts';
import type { PolicyResult } from './policy-result.ts';

/** What `demo --json` prints, and the table is made from. */
export interface DemoReport {
  readonly gateway: 'envoy' | 'embedded';
  readonly envoyInstallMs: number;
  readonly tookMs: number;
  readonly trace: { readonly file: string; readonly fromMs: number; readonly toMs: number };
  readonly arrivalSpeed: number;
  readonly stubs: number;
  readonly requests: number;
  readonly hitRateMax: number;
  readonly policies: readonly PolicyResult[];
}

/** If requests are sent later than this, the lateness is visible in the figures. */
const SENDER_LATE_MS = 20;
/** If they are sent later than this, the simulated servers are late, too: policies differ by as much. */
const SENDER_STARVED_MS = 200;

const COLUMNS: readonly {
  readonly head: string;
  readonly cell: (result: PolicyResult) => string;
}[] = [
  { head: 'policy', cell: ({ policy }) => policy },
  { head: 'TTFT mean', cell: ({ ttftMs }) => milliseconds(ttftMs.mean) },
  { head: 'p50', cell: ({ ttftMs }) => milliseconds(ttftMs.p50) },
  { head: 'p90', cell: ({ ttftMs }) => milliseconds(ttftMs.p90) },
  { head: 'p99', cell: ({ ttftMs }) => milliseconds(ttftMs.p99) },
  { head: 'tokens/s', cell: ({ tokensPerSecond }) => grouped(Math.round(tokensPerSecond)) },
  { head: 'prefix hits', cell: ({ prefixHitRate }) => `${(100 * prefixHitRate).toFixed(1)} %` },
  { head: 'max/mean req', cell: ({ balance }) => balance.requests.toFixed(2) },
  { head: 'max/mean tok', cell: ({ balance }) => balance.promptTokens.toFixed(2) },
  { head: 'errors', cell: ({ errors }) => grouped(errors) },
];

/** The comparison as text: a row for each policy, then what the columns mean. */
export function renderDemo(report: DemoReport, columns = 80): string {
  const { policies, gateway, tookMs, envoyInstallMs, hitRateMax } = report;
  const late = Math.max(...policies.map(({ senderLateP99Ms }) => senderLateP99Ms));
  const failure = policies.find(({ firstError }) => firstError !== undefined);
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  const install = envoyInstallMs > 0 ? ` after ${seconds(envoyInstallMs)} to install Envoy` : '';
  const through = gateway === 'embedded' ? ', through the embedded gateway, not Envoy' : '';
  const head = COLUMNS.map((column) => column.head);
  const rows = policies.map((result) => COLUMNS.map(({ cell }) => cell(result)));
  return [
    '',
    tableWithin([head, ...rows], columns),
    'reference-default  scorers and weights of the reference picker, run by Pointsman',
    'TTFT               from when a request was due to the first token of its answer',
    'tokens/s           output tokens per second while requests arrived',
    `prefix hits        prompt tokens found in caches; at most ${(100 * hitRateMax).toFixed(1)} % are possible`,
    'max/mean           the busiest endpoint over the mean, by requests and by tokens',
    `took ${seconds(tookMs)}${install}${through}`,
    ...lateNote(late),
    ...(failure === undefined ? [] : [`first error of ${failure.policy}: ${failure.firstError}`]),
    '',
    'Where to look next',
    '  docs/tutorials/first-decision.md   a decision of your own, explained',
    '  deploy/envoy.yaml                  the picker behind your own Envoy',
    '  npx pointsman serve --help         the picker',
    '  npx pointsman demo --arrivals 6    the same at a higher load',
    '',
  ].join('\n');
}

/** How late requests left; nothing where that is little. */
function lateNote(lateMs: Millis): readonly string[] {
  if (!(lateMs > SENDER_LATE_MS)) return [];
  const late = `busy machine: requests left up to ${grouped(Math.round(lateMs))} ms late (p99)`;
  return lateMs < SENDER_STARVED_MS
    ? [`${late}, as these figures contain`]
    : [
        `${late}.`,
        'The servers are simulated on the same cores, in real time, so these figures say',
        'little about the policies: run it again while the machine is idle',
      ];
}

function milliseconds(value: number): string {
  return Number.isNaN(value) ? '–' : `${grouped(Math.round(value))} ms`;
}
