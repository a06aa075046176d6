import type { CapturedDecision, CaptureRecord } from '../src/journal/capture/capture-record.ts';

/** The first record of a capture. Its configuration decides nothing. */
export const CAPTURE_HEAD: CaptureRecord = {
  e: 'capture',
  version: 3,
  seed: 1,
  config: { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig', plugins: [] },
  wallMs: 0,
  t: 0,
  file: 0,
};

/** An endpoint that comes. */
export function capturedServer(
  id: string,
  labels: Readonly<Record<string, string>> = {},
): CaptureRecord {
  return { e: '+', id, address: `${id}:8000`, labels };
}

/** A request with a short prompt, which has ended; `n` is its number, `t` its time. */
export function capturedRequest(
  n: number,
  { t, bodyBytes = 40, d }: { t: number; bodyBytes?: number; d: CapturedDecision },
): CaptureRecord {
  return {
    e: 'q',
    t,
    n,
    r: {
      id: `r${n}`,
      model: 'm',
      streaming: false,
      promptTokens: 10,
      blockTokens: 64,
      blocks: [],
      priority: 0,
      fairness: 'default-flow',
      bodyBytes,
    },
    firstTokenSeen: false,
    endSeen: true,
    d,
  };
}
