import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { CaptureWriter } from '../../src/journal/capture/capture-writer.ts';
import { inMicroseconds, startCapture } from '../../src/journal/capture/start-capture.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import type { DecisionList } from '../../src/serve/admin/decision-documents.ts';
import { compare, type Overhead } from './compare.ts';
import { type Added, addedBy, addedShare, addedText, type MakePicker } from './decisions.ts';
import { overheadOptions, overheadText } from './options.ts';

const ABOUT = `CPU of the picker for each request through a real Envoy, alternately with and without a capture
(serve --capture), and the bytes that the capture takes on disk for each request. Compression in other threads of the picker
counts, too.`;

/** Records are written once a second. */
const FLUSH_MS = 2500;
const SHARE_MAX = 0.02;
const BYTES_MAX = 200;

async function decisionsMade(metricsPort: number): Promise<number> {
  const { body } = await request(`http://127.0.0.1:${metricsPort}/debug/decisions?limit=1`);
  const { decisions } = (await body.json()) as DecisionList;
  return (decisions[0]?.number ?? -1) + 1;
}

const bare: MakePicker = (options) => ({ picker: new EndpointPicker(options) });

function captured(folder: string): MakePicker {
  return ({ plan, runtime }) => {
    const clock = inMicroseconds(runtime.clock);
    const { picker, capture } = startCapture(
      { plan, seed: 1 },
      (recorder) =>
        new EndpointPicker({ plan, runtime: { ...runtime, clock }, subscribers: [recorder] }),
    );
    const writer = new CaptureWriter({
      folder,
      fileBytesMax: 1e9,
      totalBytesMax: 1e9,
      drain: () => capture.drain(),
      head: (file) => capture.head(file),
      onFailed: (reason) => {
        throw new Error(`the capture ended: ${reason}`);
      },
    });
    capture.listen(writer.write);
    return { picker, settle: () => writer.flush() };
  };
}

interface Result {
  readonly endpoints: number;
  readonly overhead: Overhead;
  readonly added: Added;
  readonly bytesPerRequest: number;
}

const options = await overheadOptions('capture', ABOUT);
if (options !== undefined) {
  const results: Result[] = [];
  for (const endpoints of options.endpoints) {
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-bench-capture-'));
    const flags = { without: [], with: ['--capture', folder] };
    const comparison = { endpoints, flags, ...options.effort };
    const written = { bytes: 0, requests: 0 };
    try {
      const overhead = await compare(comparison, options.tools, async ({ metricsPort }) => {
        await sleep(FLUSH_MS);
        for (const name of readdirSync(folder)) {
          written.bytes += statSync(join(folder, name)).size;
          rmSync(join(folder, name));
        }
        written.requests += await decisionsMade(metricsPort);
      });
      const bytesPerRequest = written.bytes / written.requests;
      const added = await addedBy(bare, captured(folder), endpoints);
      results.push({ endpoints, overhead, added, bytesPerRequest });
      if (options.json) continue;
      process.stdout.write(
        `${endpoints} endpoints: ${overheadText(overhead)}\n` +
          `  ${addedText(added, overhead.withoutMs)}\n` +
          `  ${bytesPerRequest.toFixed(1)} bytes a request of ${written.requests}\n`,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
  const document = { bench: 'capture', machine: options.machine, results };
  if (options.json) process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
  const held = results.every(
    ({ overhead, added, bytesPerRequest }) =>
      addedShare(added, overhead.withoutMs) < SHARE_MAX && bytesPerRequest < BYTES_MAX,
  );
  process.exitCode = held ? 0 : 1;
}
