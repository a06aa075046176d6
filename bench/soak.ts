import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageFile } from '../src/files/folders.ts';
import { fetchEnvoy } from '../src/lab/envoy/fetch-envoy.ts';
import { mean } from '../src/lab/run-summary/statistics.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { builtMain } from './cost/build.ts';
import { processCpuMs, residentMb } from './cost/proc.ts';
import { type Side, startBed } from './load/bed.ts';
import { type Load, startOpenLoop } from './load/load.ts';
import { createPrompts } from './load/prompts.ts';
import { parseOptions } from './support/parse-options.ts';

const HELP = `npm run bench -- soak [options]

Whether the memory of a picker stays the same under mixed load through a real Envoy: bodies of 1, 32
and 400 KB with streamed answers, and clients that leave. Prints a line every half minute, and at the
end the mean of each quarter. The first quarter fills what is remembered: 100,000 decisions need eight
minutes. Ends with 1 where the last quarter has more than 5 % over the second, or requests failed.

  --minutes <n>    how long (60)
  --rate <n>       requests a second, all sizes together (250)
  --endpoints <n>  model servers (8)
`;

/** Shares of the requests by the size of their body. */
const SIZES = [
  { kib: 1, share: 0.8 },
  { kib: 32, share: 0.18 },
  { kib: 400, share: 0.02 },
];
const CHUNKS = 20;
const SEED = 20_261_124;
const SAMPLE_MS = 30_000;
/** Clients that leave while the answer streams. */
const LEAVING_PER_SECOND = 5;
const LEAVES_AFTER_MS = 50;
const GROWTH_MAX = 1.05;

const { values } = parseOptions({
  options: {
    help: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '250' },
    endpoints: { type: 'string', default: '8' },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function startLoads(port: number, rate: number): readonly Load[] {
  return SIZES.map(({ kib, share }) => {
    const random = seededRandom(SEED).fork(`${kib}`);
    const next = createPrompts({ bodyBytes: kib * 1024, stream: true, random });
    return startOpenLoop({ port, perSecond: rate * share, next });
  });
}

/** Sends a request whose client leaves before the answer has ended. */
function leave(port: number): void {
  const path = '/v1/chat/completions';
  const headers = { 'content-type': 'application/json' };
  const left = request({ host: '127.0.0.1', port, method: 'POST', path, headers });
  left.on('error', () => undefined);
  left.end('{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true}');
  setTimeout(() => left.destroy(), LEAVES_AFTER_MS);
}

/** Samples the resident memory until the time is over; MB. */
async function samplesOf({ pid }: Side, loads: readonly Load[], until: number): Promise<number[]> {
  const samples: number[] = [];
  for (let cpuMs = processCpuMs(pid), done = 0; performance.now() < until; ) {
    await sleep(SAMPLE_MS);
    const counts = loads.map((load) => load.counts());
    const completed = counts.reduce((sum, each) => sum + each.completed, 0);
    const failed = counts.reduce((sum, each) => sum + each.failed, 0);
    const now = processCpuMs(pid);
    const mb = residentMb(pid);
    samples.push(mb);
    const cost = ((now - cpuMs) / (completed - done)).toFixed(2);
    say(
      `${completed} answered, ${failed} failed: ${mb.toFixed(0)} MB, ${cost} ms of CPU a request`,
    );
    [cpuMs, done] = [now, completed];
  }
  return samples;
}

/** Returns the process's exit code. */
async function main(): Promise<number> {
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const envoy = await fetchEnvoy({ log: say });
  if ('unavailable' in envoy) {
    say(`the soak needs a real Envoy: ${envoy.unavailable}`);
    return 2;
  }
  const bed = await startBed(
    {
      config: 'default',
      endpoints: Number(values.endpoints),
      page: 'real',
      answerChunks: CHUNKS,
    },
    {
      envoyPath: envoy.path,
      main: await builtMain(packageFile('.')),
      nodeFlags: [],
      other: undefined,
      log: () => undefined,
    },
  );
  const loads = startLoads(bed.ours.port, Number(values.rate));
  const leaving = setInterval(() => leave(bed.ours.port), 1000 / LEAVING_PER_SECOND);
  try {
    const until = performance.now() + Number(values.minutes) * 60_000;
    const samples = await samplesOf(bed.ours, loads, until);
    const failed = loads.reduce((sum, load) => sum + load.counts().failed, 0);
    return reported(samples, failed);
  } finally {
    clearInterval(leaving);
    for (const load of loads) load.stop();
    await bed.stop();
  }
}

function reported(samples: readonly number[], failed: number): number {
  const part = samples.length / 4;
  const quarters = [0, 1, 2, 3].map((at) =>
    mean(samples.slice(Math.floor(at * part), Math.floor((at + 1) * part))),
  );
  const [, second = 0, , last = 0] = quarters;
  const shown = quarters.map((mb) => mb.toFixed(0)).join(', ');
  const growth = last / second;
  say(
    `mean of each quarter: ${shown} MB; the last is ${growth.toFixed(3)} of the second; ${failed} failed`,
  );
  return growth <= GROWTH_MAX && failed === 0 ? 0 : 1;
}

// On `exit` the remaining children are killed.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
process.exitCode = await main();
