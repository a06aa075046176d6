import { writeFileSync } from 'node:fs';
import { zstdCompressSync } from 'node:zlib';
import { ConfigError } from '../../../src/framework/error.ts';
import type { CaptureRecord } from '../../../src/journal/capture/capture-record.ts';
import { readCapture } from '../../../src/journal/capture/read-capture.ts';
import { startCapture } from '../../../src/journal/capture/start-capture.ts';
import { readCaptureTrace } from '../../../src/lab/traces/reading/read-capture-trace.ts';
import { TraceError } from '../../../src/lab/traces/trace.ts';
import type { EndpointPicker } from '../../../src/picker/endpoint-picker.ts';
import { makeRequest } from '../../makers.ts';
import { PLAN, startFuzzPicker } from '../picker.ts';
import { expected, type FuzzTarget, utf8 } from '../target.ts';
import { scratchFile } from './trace.ts';

/** A capture of two requests, of which one fails. */
function recorded(): string {
  const { picker, capture } = startCapture(
    { plan: PLAN, seed: 1 },
    (subscriber): EndpointPicker => startFuzzPicker({ subscribers: [subscriber] }).picker,
  );
  let text = new TextDecoder().decode(capture.begin(picker.pool.snapshot()));
  capture.listen((lines) => {
    text += new TextDecoder().decode(lines);
  });
  for (const id of ['a', 'b']) {
    const words = new Uint32Array([1, 2, 3, 4]);
    const prompt = { count: 2, blockTokens: 64, words };
    const routed = picker.route(makeRequest({ id, prompt, promptTokens: 150 }));
    routed.firstToken();
    routed.done(id === 'b' ? 'failed' : 'completed', {
      promptTokens: 150,
      completionTokens: 9,
      cachedTokens: 0,
    });
  }
  picker.stop();
  capture.drain();
  return text;
}

const TEXT = recorded();

/** A capture is read, as records and as requests, or refused with the place that is wrong. */
export const capture: FuzzTarget = {
  name: 'capture',
  weight: 0.1,
  inputBytesMax: 4000,
  seeds: [utf8(TEXT), zstdCompressSync(Buffer.from(TEXT))],
  words: ['\n', '{"e":"q"', '"e":"gap"', 'null', '[]', '{}', '-1', '1e400', '"id":', '"n":'],
  run: (input) => {
    writeFileSync(scratchFile, input);
    return `${asTrace(false)} ${asTrace(true)} ${asRecords()}`.replaceAll(scratchFile, '');
  },
};

function asTrace(lenient: boolean): string {
  try {
    return `${Math.min(9, readCaptureTrace(scratchFile, { lenient }).requests.length)}`;
  } catch (error) {
    return expected(error, TraceError, ConfigError);
  }
}

function asRecords(): string {
  const kinds = new Set<CaptureRecord['e']>();
  try {
    for (const record of readCapture(scratchFile).records) kinds.add(record.e);
    return [...kinds].join();
  } catch (error) {
    return expected(error, ConfigError);
  }
}
