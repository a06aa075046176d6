import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageFile } from '../../src/files/folders.ts';
import { quantile, sorted } from '../../src/lab/run-summary/statistics.ts';
import { prepareRequests } from '../direct/requests.ts';
import { addressesOf, startPicker, startUpstream } from '../load/bed.ts';
import { type Child, type Keep, startChild, startTogether } from '../load/child.ts';
import { startCollector } from '../overhead/collector.ts';
import { view } from '../overhead/view.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { parseOptions } from '../support/parse-options.ts';
import { type Ratio, ratioOf } from './ratio.ts';
import { type Measured, measureSegment, openSession, type Segment } from './segments.ts';

const HELP = `npm run bench -- toggle [options]

What a feature adds to the CPU of a request of 1 KB, without Envoy. Both pickers are in one process, and segments with
the feature and without it alternate (without, with, with, without), so that differences between processes
and other work on the machine harm both alike. It is done twice, with the one or the other picker started first, because the
second of a process is dearer. Prints the ratio, the median of the blocks with its 95 % interval.
Exit code 1 where the interval is above what is asked.

  --features <f,…>   page, tracing, sharing (all)
                     page: one viewer; tracing: a tenth of the requests is written and sent over HTTP;
                     sharing: with another picker over NATS, whose CPU for it counts; nothing: two equal
                     pickers, which says how well this machine can tell
  --endpoints <n>    model servers (8)
  --blocks <n>       of eight segments each, four in each order of the pickers (30)
  --segment-ms <n>   length of a segment (500)
  --json             one JSON document on stdout
`;

/** Asked for, as a ratio. */
const MOST: Readonly<Record<string, number>> = {
  page: 1.02,
  tracing: 1.03,
  sharing: 1.03,
  // Two equal pickers: how small a difference this machine can show today.
  nothing: 1,
};
/** Longer than replicas gather what they share (50 ms). */
const SETTLE_MS = 120;
/** Longer than spans are gathered. */
const SPANS_SETTLE_MS = 350;
const WARM_UP_MS = 6000;
/**
 * About as long as a batch of spans takes to fill under this load: more messages would cost more.
 */
const SPAN_DELAY_MS = 300;
const KEY = 'a key of the bench, longer than 16 bytes';
const SCRAPE_FLAGS = ['--scrape-interval-ms', '1000'];

const { values } = parseOptions({
  options: {
    help: { type: 'boolean', default: false },
    features: { type: 'string', default: Object.keys(MOST).join(',') },
    endpoints: { type: 'string', default: '8' },
    blocks: { type: 'string', default: '30' },
    'segment-ms': { type: 'string', default: '500' },
    json: { type: 'boolean', default: false },
  },
});
const log = (line: string): void => void process.stderr.write(`${line}\n`);

/** Which picker is started first. */
type Order = 'with-first' | 'without-first';

/** What begins before segments with the feature and ends after them. */
type Toggle = () => Promise<{ stop(): void }>;

interface Bed {
  readonly pickers: Child;
  /** The other picker, where the feature gives it work. */
  readonly peer?: Child;
  readonly toggle?: Toggle;
}

async function startBed(feature: string, order: Order, keep: Keep): Promise<Bed> {
  const endpoints = Number(values.endpoints);
  const upstream = await startUpstream({ endpoints, page: 'small', answerChunks: 0 }, { log });
  const addresses = addressesOf(keep(upstream));
  const first = order === 'with-first' && feature !== 'page' ? ['--with-first'] : [];
  const args = ['--feature', feature, '--endpoints', addresses.join(','), ...first];
  const start = async (more: readonly string[]): Promise<Child> =>
    keep(
      await startChild({
        name: 'pickers',
        command: process.execPath,
        args: [packageFile('bench/toggle/pickers.ts'), ...args, ...more],
        log,
      }),
    );
  if (feature === 'tracing') {
    const collector = await startCollector();
    keep({ stop: () => Promise.resolve(collector.stop()) });
    process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = collector.url;
    process.env['OTEL_EXPORTER_OTLP_PROTOCOL'] = 'http/protobuf';
    process.env['OTEL_TRACES_SAMPLER_ARG'] ??= '0.1';
    process.env['OTEL_BSP_SCHEDULE_DELAY'] = String(SPAN_DELAY_MS);
    return { pickers: await start([]) };
  }
  if (feature === 'sharing') {
    const nats = await startNatsServer();
    keep({ stop: () => nats.kill() });
    const pickers = await start(['--nats', nats.url, '--key', KEY]);
    return { pickers, peer: await startPeer(nats.url, addresses, keep) };
  }
  const pickers = await start([]);
  if (feature === 'nothing') return { pickers };
  const { metricsPort } = pickers.said as { readonly metricsPort: number };
  return { pickers, toggle: () => view(metricsPort) };
}

async function startPeer(nats: string, addresses: readonly string[], keep: Keep): Promise<Child> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-toggle-'));
  keep({ stop: async () => rmSync(folder, { recursive: true }) });
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, KEY);
  const shares = ['--replicas-nats', nats, '--replicas-key-file', keyFile];
  const names = ['--replicas-subject', 'pointsman.toggle', '--replica-id', randomUUID()];
  const flags = [...SCRAPE_FLAGS, ...shares, ...names];
  return keep(await startPicker({ config: 'default', flags }, addresses, { log, nodeFlags: [] }));
}

/** The segments of a block. */
interface Segments {
  readonly without: readonly Segment[];
  readonly with: readonly Segment[];
}

async function measureIn(order: Order, feature: string): Promise<readonly Segments[]> {
  const bed = await startTogether((keep) => startBed(feature, order, keep));
  const requests = prepareRequests(1, 0);
  const ports = bed.pickers.said as { readonly without: number; readonly with: number };
  const pids = { own: bed.pickers.pid, peer: bed.peer?.pid };
  const without = { session: openSession(ports.without), ...pids };
  const having = { session: openSession(ports.with), ...pids };
  const segmentMs = Number(values['segment-ms']);
  const segment = async (side: Measured, toggle?: Toggle, ms = segmentMs): Promise<Segment> => {
    const toggled = await toggle?.();
    const settleMs = feature === 'tracing' ? SPANS_SETTLE_MS : SETTLE_MS;
    const length = { segmentMs: ms, settleMs };
    const measured = await measureSegment(side, requests, length);
    toggled?.stop();
    return measured;
  };
  try {
    await segment(without, undefined, WARM_UP_MS);
    await segment(having, bed.toggle, WARM_UP_MS);
    const blocks: Segments[] = [];
    for (let block = 0; block < Number(values.blocks); block++) {
      const first = await segment(without);
      const inner = [await segment(having, bed.toggle), await segment(having, bed.toggle)];
      blocks.push({ without: [first, await segment(without)], with: inner });
    }
    return blocks;
  } finally {
    for (const { session } of [without, having]) session.destroy();
    await bed.stop();
  }
}

/** Each block has as many segments of each order. */
async function measure(feature: string): Promise<readonly Segments[]> {
  const second = await measureIn('without-first', feature);
  const first = await measureIn('with-first', feature);
  return second.map((block, at) => ({
    without: [...block.without, ...(first[at]?.without ?? [])],
    with: [...block.with, ...(first[at]?.with ?? [])],
  }));
}

/** The ratio by one of the figures of each segment. */
function ratioBy(blocks: readonly Segments[], figure: (segment: Segment) => number): Ratio {
  return ratioOf(
    blocks.map((block) => ({
      without: block.without.map(figure),
      with: block.with.map(figure),
    })),
  );
}

function ratioText({ median, low, high }: Ratio): string {
  return `${median.toFixed(3)} × (${low.toFixed(3)} to ${high.toFixed(3)})`;
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const results = [];
  for (const feature of values.features.split(',')) {
    const most = MOST[feature];
    if (most === undefined) {
      throw new Error(`--features: ${feature} is none of ${Object.keys(MOST).join(', ')}`);
    }
    const blocks = await measure(feature);
    const all = ratioBy(blocks, ({ allMs }) => allMs);
    const own = ratioBy(blocks, ({ ownMs }) => ownMs);
    const withoutMs = quantile(
      sorted(blocks.flatMap((each) => each.without.map(({ ownMs }) => ownMs))),
      0.5,
    );
    results.push({ feature, most, all, own, withoutMs });
    if (values.json) continue;
    const alone = feature === 'sharing' ? `, in the picker itself ${ratioText(own)}` : '';
    process.stdout.write(
      `${feature.padEnd(8)} ${ratioText(all)}${alone}; asked ${most}; ${all.blocks} blocks, ` +
        `${withoutMs.toFixed(3)} ms a request without\n`,
    );
  }
  const document = { bench: 'toggle', results };
  if (values.json) process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
  process.exitCode = results.some(({ all, most }) => all.low > most) ? 1 : 0;
}

// On `exit` the remaining children are killed.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
await main();
