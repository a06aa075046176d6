import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../src/framework/runtime.ts';
import { type ReadOptions, readTrace } from '../src/lab/traces/reading/read-trace.ts';
import type { Trace, TraceRequest } from '../src/lab/traces/trace.ts';

/**
 * A random trace of conversations and single requests with every optional field and shared
 * prefixes.
 */
export function makeTrace(
  random: Random,
  { blockTokens = 64 }: { readonly blockTokens?: number } = {},
): Trace {
  const upTo = (bound: number): number => Math.floor(bound * random.next());
  let atMs = 0;
  const requests = Array.from({ length: 30 }, (_, index): TraceRequest => {
    if (index > 0 && upTo(5) > 0) atMs += upTo(1e7) / 1000;
    const model = ['', 'llama', 'a b/c'][upTo(3)] ?? '';
    const blocks = upTo(40);
    const family = upTo(4);
    const shared = upTo(blocks + 1);
    const blockIds = Array.from({ length: blocks }, (__, place) =>
      place < shared ? 1000 * family + place : 1_000_000 * (index + 1) + place,
    );
    const session = upTo(2) === 0 ? {} : { session: `s${upTo(5)}` };
    const think = upTo(3) === 0 && 'session' in session ? { thinkMs: upTo(9000) } : {};
    const shares = upTo(3) === 0 ? { priority: upTo(3) - 2, fairnessId: `f${upTo(3)}` } : {};
    const ttft = upTo(2) === 0 ? {} : { ttftMs: upTo(1e6) / 1000 };
    const outcome = (['completed', 'aborted', 'failed'] as const)[upTo(3)] ?? 'failed';
    const seen = upTo(2) === 0 ? {} : { seen: { outcome, ...ttft, e2eMs: 1000 + upTo(5000) } };
    const promptTokens = blocks * blockTokens + 1 + upTo(blockTokens - 1);
    const sizes = { promptTokens, outputTokens: 1 + upTo(3000), blockIds };
    return { atMs, model, ...sizes, ...session, ...think, ...shares, ...seen };
  });
  return { blockTokens, requests, repaired: 0, notes: [] };
}

/** Reads a trace from bytes, through a file with the name `trace`. */
export function readBytes(bytes: string | Buffer, options: ReadOptions): Trace {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-bytes-'));
  try {
    const path = join(folder, 'trace');
    writeFileSync(path, bytes);
    return readTrace(path, options);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
