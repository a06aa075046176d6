import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError } from 'commander';
import { packageFile } from '../files/package-file.ts';
import { ConfigError, type ConfigIssue } from '../framework/error.ts';
import { planWorkload, type Workload } from '../lab/demo/demo-workload.ts';
import { readMooncakeTrace } from '../lab/demo/mooncake-trace.ts';
import type { PolicyResult } from '../lab/demo/policy-result.ts';
import { createProgress, type Progress } from '../lab/demo/progress.ts';
import { renderTable } from '../lab/demo/render-table.ts';
import { runPolicy } from '../lab/demo/run-policy.ts';
import { fetchEnvoy } from '../lab/envoy/fetch-envoy.ts';

interface DemoFlags {
  readonly arrivals: number;
  readonly stubs: number;
  readonly policies: readonly string[];
  readonly envoy: boolean;
  readonly json: boolean;
}

const POLICIES = ['round-robin', 'reference-default', 'default'];
const TRACE = 'bench/traces/mooncake-conversation-5min.jsonl';
/** The last minute of the slice: the four before it are its conversations' past. */
const FROM_MS = 240_000;
const TO_MS = 300_000;
/** Three policies within 90 s, and a load at which the choice of endpoint matters. */
const ARRIVALS_DEFAULT = 4;
/** The warm-up's 57 prompts are 26 engine-seconds of prefill, on 8 engines. */
const WARM_UP_GAP_MS = 70;
/** The sender shares two cores with all the rest; beyond this its own lateness shows in the figures. */
const SENDER_LATE_MS = 20;

/** What `--json` prints, and the table is made from. */
interface DemoReport {
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

/** Rejects with ConfigError for what is no configuration. */
type CheckPolicy = (policy: string) => Promise<void>;

/** `pointsman demo`. */
export function demoCommand(checkPolicy: CheckPolicy): Command {
  return new Command('demo')
    .description(
      'everything at once on this machine: stubs, picker, Envoy, a minute of a real trace, policies side by side',
    )
    .option(
      '--arrivals <times>',
      'how many times faster than in the trace requests arrive',
      positive,
      ARRIVALS_DEFAULT,
    )
    .option('--stubs <n>', 'model-server stubs', positive, 8)
    .option(
      '--policies <names>',
      'configurations to compare, comma-separated names or files',
      names,
      POLICIES,
    )
    .option('--no-envoy', 'use the embedded gateway instead of Envoy')
    .option('--json', 'print one JSON document on stdout', false)
    .action(async (flags: DemoFlags) => {
      await checkAll(flags.policies, checkPolicy);
      const stopping = new AbortController();
      let exitCode = 0;
      for (const [signal, code] of [
        ['SIGINT', 130],
        ['SIGTERM', 143],
      ] as const) {
        process.once(signal, () => {
          exitCode = code;
          stopping.abort();
          // Impatience: the children end with this process.
          process.once(signal, () => process.exit(code));
        });
      }
      try {
        const report = await runDemo(flags, stopping.signal);
        process.stdout.write(
          flags.json ? `${JSON.stringify(report, undefined, 2)}\n` : asText(report),
        );
        if (report.policies.some(({ errors }) => errors > 0)) exitCode = 1;
      } catch (error) {
        if (!stopping.signal.aborted) throw error;
        say('stopped');
      }
      process.exit(exitCode);
    });
}

/** Of the last one's name nobody wants to hear after the minutes that the others take. */
async function checkAll(policies: readonly string[], checkPolicy: CheckPolicy): Promise<void> {
  const issues: ConfigIssue[] = [];
  for (const policy of policies) {
    try {
      await checkPolicy(policy);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      issues.push(...error.issues.map((issue) => ({ ...issue, path: `${policy}: ${issue.path}` })));
    }
  }
  if (issues.length > 0) throw new ConfigError('--policies', issues);
}

async function runDemo(flags: DemoFlags, signal: AbortSignal): Promise<DemoReport> {
  const { arrivals, stubs, policies } = flags;
  const fetched = flags.envoy ? await fetchEnvoy({ log: say }) : { unavailable: '--no-envoy' };
  const envoy = 'path' in fetched ? fetched : undefined;
  if ('unavailable' in fetched) {
    say(`the embedded gateway stands in for Envoy here: ${fetched.unavailable}`);
  }
  const startedAt = performance.now();
  const rows = readMooncakeTrace(readFileSync(packageFile(TRACE), 'utf8'), TRACE);
  const workload = planWorkload(rows, {
    fromMs: FROM_MS,
    toMs: TO_MS,
    arrivalSpeed: arrivals,
    warmUpGapMs: WARM_UP_GAP_MS,
  });
  const { measured, warmUp, hitRateMax } = workload;
  say(
    `${measured.length} requests of a minute of the Mooncake conversation trace, arriving ${arrivals}× as fast, after ${warmUp.length} that warm the caches up;`,
  );
  say(
    `${stubs} stub engines at the speed of life, the picker, ${envoy === undefined ? 'the embedded gateway' : `Envoy ${envoy.version}`}; for each policy afresh`,
  );
  const progress = createProgress();
  const results: PolicyResult[] = [];
  for (const policy of policies) {
    results.push(await runOne({ policy, stubs, workload, envoy: envoy?.path, signal, progress }));
  }
  return {
    gateway: envoy === undefined ? 'embedded' : 'envoy',
    envoyInstallMs: envoy?.installMs ?? 0,
    tookMs: performance.now() - startedAt,
    trace: { file: TRACE, fromMs: FROM_MS, toMs: TO_MS },
    arrivalSpeed: arrivals,
    stubs,
    requests: measured.length,
    hitRateMax,
    policies: results,
  };
}

async function runOne(options: {
  readonly policy: string;
  readonly stubs: number;
  readonly workload: Workload;
  readonly envoy: string | undefined;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}): Promise<PolicyResult> {
  const { policy, workload, progress } = options;
  progress.start(policy, workload.warmUp.length + workload.measured.length);
  try {
    return await runPolicy({
      ...options,
      log: () => undefined,
      onProgress: (sent) => progress.update(sent),
    });
  } finally {
    progress.stop();
  }
}

function asText(report: DemoReport): string {
  const { policies, gateway, tookMs, envoyInstallMs, hitRateMax } = report;
  const late = Math.max(...policies.map(({ senderLateP99Ms }) => senderLateP99Ms));
  const failure = policies.find(({ firstError }) => firstError !== undefined);
  return [
    '',
    renderTable(policies),
    '',
    'reference-default  the scorers and weights that the reference picker has built in, run here by Pointsman',
    'TTFT    from when a request was due to the first byte of its answer',
    `tokens  output tokens a second while requests arrived; prefix hits by the engines' own counters, at most ${(100 * hitRateMax).toFixed(1)} % are possible`,
    'max/mean  the busiest endpoint over the mean, by requests and by prompt tokens; 1 is even',
    `took ${(tookMs / 1000).toFixed(1)} s${envoyInstallMs > 0 ? ` after ${(envoyInstallMs / 1000).toFixed(1)} s for installing Envoy` : ''}${gateway === 'embedded' ? ', through the embedded gateway, not Envoy' : ''}`,
    ...(late > SENDER_LATE_MS
      ? [
          `this machine was busy: requests left up to ${late.toFixed(0)} ms late (p99), which is in the figures`,
        ]
      : []),
    ...(failure?.firstError === undefined
      ? []
      : [`first error of ${failure.policy}: ${failure.firstError}`]),
    '',
    'Where to look next',
    '  deploy/envoy.yaml             put the picker behind an Envoy of yours; deploy/envoy-efficient.yaml for less CPU',
    '  pointsman serve --help        the picker; `--config reference-default` is the policy of the middle row',
    '  scorers/README.md             every scorer, and how to add one in one file',
    '  pointsman demo --arrivals 6   the same at a higher load; `--policies default,least-request` for others',
    '',
  ].join('\n');
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('must be a number above 0.');
  return value;
}

function names(text: string): readonly string[] {
  const given = text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  if (given.length === 0) throw new InvalidArgumentError('must name one configuration or more.');
  return given;
}
