import { Client } from 'undici';
import { DecisionRecorder } from '../../src/journal/explain/decision-recorder.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import type { DecisionList } from '../../src/serve/admin/decision-documents.ts';
import { compare, type Overhead, quantile } from './compare.ts';
import { type Added, addedBy, addedShare, addedText, type MakePicker } from './decisions.ts';
import { overheadOptions, overheadText } from './options.ts';

const ABOUT = `CPU of the picker for each request through a real Envoy, with and without a memory of the last 100,000 decisions, in
turn; then how long each of a sample of them, the oldest included, takes to be explained over HTTP by a picker at rest.`;

const DECISIONS = 100_000;
const FILL_MS = 2000;
const FILLS_MAX = 90;
const ASKED = 500;
const SHARE_MAX = 0.03;
const EXPLAIN_MS_MAX = 5;

interface Asked {
  readonly decisions: number;
  readonly bytesPerDecision: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Fills the ring, then asks for decisions from all over it. */
async function ask(
  metricsPort: number,
  load: (windowMs: number) => Promise<unknown>,
): Promise<Asked> {
  const client = new Client(`http://127.0.0.1:${metricsPort}`);
  const get = async (path: string): Promise<string> => {
    const { statusCode, body } = await client.request({ path, method: 'GET' });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${text}`);
    return text;
  };
  const list = async (query: string): Promise<DecisionList> =>
    JSON.parse(await get(`/debug/decisions?${query}`)) as DecisionList;
  let latest = await list('limit=1');
  for (let fill = 0; fill < FILLS_MAX && latest.held.decisions < DECISIONS; fill++) {
    await load(FILL_MS);
    latest = await list('limit=1');
  }
  const { decisions, bytes } = latest.held;
  const newest = latest.decisions[0]?.number ?? 0;
  const last = Math.min(DECISIONS, decisions);
  const times: number[] = [];
  for (let turn = 0; turn < ASKED; turn++) {
    const number = newest - Math.round((turn / (ASKED - 1)) * (last - 1));
    const { decisions: found } = await list(`limit=1&before=${number + 1}`);
    const startedAt = performance.now();
    await get(`/debug/explain?id=${found[0]?.requestId}`);
    times.push(performance.now() - startedAt);
  }
  await client.close();
  return {
    decisions,
    bytesPerDecision: bytes / decisions,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    maxMs: Math.max(...times),
  };
}

const bare: MakePicker = (options) => ({ picker: new EndpointPicker(options) });

const recorded: MakePicker = (options) => {
  const recorder = new DecisionRecorder({ clock: options.runtime.clock });
  return { picker: new EndpointPicker({ ...options, subscribers: [recorder] }) };
};

interface Result {
  readonly endpoints: number;
  readonly overhead: Overhead;
  readonly added: Added;
  readonly asked: Asked | undefined;
}

const options = await overheadOptions('explain', ABOUT);
if (options !== undefined) {
  const results: Result[] = [];
  for (const endpoints of options.endpoints) {
    let asked: Asked | undefined;
    const flags = { without: ['--explain-decisions', '0'], with: [] };
    const comparison = { endpoints, flags, ...options.effort };
    const overhead = await compare(comparison, options.tools, async ({ metricsPort }, load) => {
      asked ??= await ask(metricsPort, load);
    });
    const added = await addedBy(bare, recorded, endpoints);
    results.push({ endpoints, overhead, added, asked });
    if (options.json || asked === undefined) continue;
    process.stdout.write(
      `${endpoints} endpoints: ${overheadText(overhead)}\n` +
        `  ${addedText(added, overhead.withoutMs)}\n` +
        `  any of ${asked.decisions} decisions explained in ${asked.p50Ms.toFixed(2)} ms (p50), ` +
        `${asked.p99Ms.toFixed(2)} ms (p99), ${asked.maxMs.toFixed(2)} ms (max); ${asked.bytesPerDecision.toFixed(0)} bytes each\n`,
    );
  }
  const document = { bench: 'explain', machine: options.machine, results };
  if (options.json) process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
  const held = results.every(
    ({ overhead, added, asked }) =>
      addedShare(added, overhead.withoutMs) < SHARE_MAX &&
      (asked?.maxMs ?? Number.NaN) < EXPLAIN_MS_MAX,
  );
  process.exitCode = held ? 0 : 1;
}
