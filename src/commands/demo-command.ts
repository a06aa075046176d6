import { Command, InvalidArgumentError } from 'commander';
import { packageFile } from '../files/folders.ts';
import { ConfigError, type ConfigIssue } from '../framework/error.ts';
import { type DemoReport, renderDemo } from '../lab/demo/demo-report.ts';
import { planWorkload } from '../lab/demo/demo-workload.ts';
import type { PolicyResult } from '../lab/demo/policy-result.ts';
import { type RunPolicyOptions, runPolicy } from '../lab/demo/run-policy.ts';
import { fetchEnvoy } from '../lab/envoy/fetch-envoy.ts';
import { readTrace } from '../lab/traces/reading/read-trace.ts';
import { above0, atLeastOne } from './options/option-values.ts';
import { startProgress } from './output/progress.ts';

interface DemoFlags {
  readonly arrivals: number;
  readonly stubs: number;
  readonly policies: readonly string[];
  readonly envoy: boolean;
  readonly json: boolean;
}

const POLICIES = ['round-robin', 'reference-default', 'default'];
const TRACE = 'bench/traces/mooncake-conversation-5min.jsonl';
/** The last minute of the trace; the four before it are the past of its conversations. */
const FROM_MS = 240_000;
const TO_MS = 300_000;
/** Three policies take less than 90 s, under a load at which the choice of endpoint matters. */
const ARRIVALS_DEFAULT = 4;
/** The 57 prompts of the warm-up are 26 engine-seconds of prefill, on 8 engines. */
const WARM_UP_GAP_MS = 70;
/** Lines of progress for each policy where stderr is no terminal. */
const PROGRESS_LINES = 4;

/** Rejects with ConfigError if the policy is not a valid configuration. */
type CheckPolicy = (policy: string) => Promise<void>;

export function demoCommand(checkPolicy: CheckPolicy): Command {
  return new Command('demo')
    .description('compare policies with stubs, picker, Envoy and a minute of a real trace')
    .option('--arrivals <times>', 'speed of arrivals, 1 as in the trace', above0, ARRIVALS_DEFAULT)
    .option('--stubs <n>', 'number of model-server stubs', atLeastOne, 8)
    .option('--policies <list>', 'configurations: names or files, with commas', names, POLICIES)
    .option('--no-envoy', 'use the embedded gateway instead of Envoy')
    .option('--json', 'print one JSON document on stdout', false)
    .action(async (flags: DemoFlags) => {
      await checkAll(flags.policies, checkPolicy);
      process.exit(await runUntilStopped(flags));
    });
}

/** Returns the exit code. */
async function runUntilStopped(flags: DemoFlags): Promise<number> {
  const stopping = new AbortController();
  let exitCode = 0;
  const stopAt = (signal: NodeJS.Signals, code: number): void => {
    process.once(signal, () => {
      exitCode = code;
      stopping.abort();
      // A second signal ends this process at once; its children end with it.
      process.once(signal, () => process.exit(code));
    });
  };
  stopAt('SIGINT', 130);
  stopAt('SIGTERM', 143);
  try {
    const report = await runDemo(flags, stopping.signal);
    const text = flags.json
      ? `${JSON.stringify(report, undefined, 2)}\n`
      : renderDemo(report, process.stdout.columns);
    process.stdout.write(text);
    if (report.policies.some(({ errors }) => errors > 0)) exitCode = 1;
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
    printLine('stopped');
  }
  return exitCode;
}

/** Checks all policies first, so that an error in the last one does not come after minutes. */
async function checkAll(policies: readonly string[], checkPolicy: CheckPolicy): Promise<void> {
  const issues: ConfigIssue[] = [];
  for (const policy of policies) {
    try {
      await checkPolicy(policy);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const issue of error.issues) {
        const path = issue.path === policy ? policy : `${policy}: ${issue.path}`;
        issues.push({ ...issue, path });
      }
    }
  }
  if (issues.length > 0) throw new ConfigError('--policies', issues);
}

async function runDemo(flags: DemoFlags, signal: AbortSignal): Promise<DemoReport> {
  const { arrivals, stubs, policies } = flags;
  const fetched = flags.envoy
    ? await fetchEnvoy({ log: printLine })
    : { unavailable: '--no-envoy' };
  const envoy = 'path' in fetched ? fetched : undefined;
  if ('unavailable' in fetched) {
    printLine(`using the embedded gateway instead of Envoy: ${fetched.unavailable}`);
  }
  const startedAt = performance.now();
  const workload = planWorkload(readTrace(packageFile(TRACE), { lenient: false }), {
    fromMs: FROM_MS,
    toMs: TO_MS,
    arrivalSpeed: arrivals,
    warmUpGapMs: WARM_UP_GAP_MS,
  });
  const gateway = envoy === undefined ? 'the embedded gateway' : `Envoy ${envoy.version}`;
  printWhatRuns(workload, flags, gateway);
  const results: PolicyResult[] = [];
  for (const policy of policies) {
    results.push(await runOne({ policy, stubs, workload, envoy: envoy?.path, signal }));
  }
  return {
    gateway: envoy === undefined ? 'embedded' : 'envoy',
    envoyInstallMs: envoy?.installMs ?? 0,
    tookMs: performance.now() - startedAt,
    trace: { file: TRACE, fromMs: FROM_MS, toMs: TO_MS },
    arrivalSpeed: arrivals,
    stubs,
    requests: workload.measured.length,
    hitRateMax: workload.hitRateMax,
    policies: results,
  };
}

function printWhatRuns(
  { measured, warmUp }: RunPolicyOptions['workload'],
  { arrivals, stubs }: DemoFlags,
  gateway: string,
): void {
  printLine(
    `${measured.length} requests of a minute of the Mooncake conversation trace, arriving ${arrivals}× as fast, after ${warmUp.length} that warm up the caches;`,
  );
  printLine(
    `${stubs} stub ${stubs === 1 ? 'engine' : 'engines'} in real time, the picker and ${gateway}, started anew for each policy`,
  );
}

async function runOne(options: Omit<RunPolicyOptions, 'onProgress'>): Promise<PolicyResult> {
  const { warmUp, measured } = options.workload;
  const progress = startProgress({
    total: warmUp.length + measured.length,
    format: '{value}/{total} requests, {duration_formatted}',
    label: `${options.policy.padEnd(18)} `,
    lines: PROGRESS_LINES,
  });
  try {
    return await runPolicy({ ...options, onProgress: (sent) => progress.update(sent) });
  } finally {
    progress.stop();
  }
}

function printLine(line: string): void {
  process.stderr.write(`${line}\n`);
}

function names(text: string): readonly string[] {
  const given = text
    .trim()
    .split(/\s*,\s*/)
    .filter((each) => each !== '');
  if (given.length > 0) return given;
  throw new InvalidArgumentError('must name at least one configuration.');
}
