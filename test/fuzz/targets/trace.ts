import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '../../../src/framework/error.ts';
import { readTrace } from '../../../src/lab/traces/reading/read-trace.ts';
import { type Trace, TraceError } from '../../../src/lab/traces/trace.ts';
import { expected, type FuzzTarget, promise, utf8 } from '../target.ts';

// In memory where that is possible: on a disk the files take most of the time.
const base = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const folder = mkdtempSync(join(base, 'pointsman-fuzz-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
/** Readers take paths. */
export const scratchFile: string = join(folder, 'input');

const SPAN = {
  startTimeUnixNano: '1700000000000000000',
  endTimeUnixNano: '1700000001000000000',
  attributes: [
    { key: 'gen_ai.usage.input_tokens', value: { intValue: '100' } },
    { key: 'gen_ai.usage.output_tokens', value: { intValue: '20' } },
    { key: 'gen_ai.request.model', value: { stringValue: 'm' } },
  ],
};
const AIPERF = {
  metadata: { request_start_ns: 5_000_000, conversation_id: 'c', benchmark_phase: 'profiling' },
  metrics: { input_sequence_length: { value: 10 }, output_sequence_length: { value: 5 } },
};
const PERF = { start_time: 1.5, end_time: 2, request: '{"model":"m"}', info: { input_tokens: 9 } };

/** A trace of any format is read, or refused with the line that is wrong. */
export const trace: FuzzTarget = {
  name: 'trace',
  weight: 0.2,
  inputBytesMax: 4000,
  seeds: [
    '{"timestamp": 0, "input_length": 700, "output_length": 5, "hash_ids": [0, 1]}\n{"timestamp": 9, "input_length": 1024, "output_length": 5, "hash_ids": [0, 2]}\n',
    'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,0\n',
    'Timestamp,Session ID,Model,Request tokens,Response tokens\n5,1,GPT-4,472,18\n45,1,"a,b",10,20\n',
    '{"pointsman":"trace","version":1,"blockTokens":16}\n{"at":0,"in":40,"out":3,"blocks":[[0,2]],"session":"s"}\n{"at":5,"in":90,"out":3,"blocks":[[0,2],[7,3]],"session":"s","thinkMs":2,"outcome":"failed","ttftMs":4}\n',
    `${JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [SPAN] }] }] })}\n`,
    `${JSON.stringify(AIPERF)}\n${JSON.stringify(AIPERF)}\n`,
    JSON.stringify([PERF, { ...PERF, error: { type: 'x' } }]),
  ].map(utf8),
  words: ['\n', '\r\n', ',', '"', '{', '}', '[[0,1]]', '"blocks":', '-1', '2023-99-99', '\0'],
  run: (input) => {
    writeFileSync(scratchFile, input);
    const strict = reading(false);
    const lenient = reading(true);
    if (typeof strict === 'object') {
      promise(typeof lenient === 'object', () => 'it is read, but only where bad lines are errors');
    }
    return `${summary(strict)} ${summary(lenient)}`;
  },
};

function reading(lenient: boolean): Trace | string {
  try {
    return readTrace(scratchFile, { lenient });
  } catch (error) {
    return expected(error, TraceError, ConfigError).replaceAll(scratchFile, '');
  }
}

function summary(read: Trace | string): string {
  if (typeof read === 'string') return read;
  for (const [at, { atMs, promptTokens, outputTokens }] of read.requests.entries()) {
    promise(atMs >= 0 && Number.isFinite(atMs), () => `request ${at} is at ${atMs} ms`);
    promise(promptTokens >= 1, () => `request ${at} has ${promptTokens} prompt tokens`);
    promise(outputTokens >= 1, () => `request ${at} has ${outputTokens} output tokens`);
  }
  return `${Math.min(9, read.requests.length)} of ${read.blockTokens}, ${read.notes.length} notes`;
}
