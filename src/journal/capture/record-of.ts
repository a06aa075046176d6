import { DEFAULT_FLOW } from '../../framework/request.ts';
import type { CapturedDecision, CapturedRequest, CaptureRecord } from './capture-record.ts';

/**
 * The values of fields that a line leaves out. Captures keep their meaning, so that these stay as
 * they are, even if prompts are hashed in other blocks one day. Earlier versions of the format
 * write all fields.
 */
export const DEFAULT_BLOCK_TOKENS = 64;
const PROMPT = { blockTokens: DEFAULT_BLOCK_TOKENS, blocks: [] };
const REQUEST = { ...PROMPT, streaming: true, priority: 0, fairness: DEFAULT_FLOW };
const DONE = { o: 'completed' } as const;
const DECIDED = { firstTokenSeen: true, endSeen: true };

/** The record of a line, with defaults for what it leaves out. Throws SyntaxError only. */
export function recordOf(line: string): CaptureRecord {
  const record = JSON.parse(line) as CaptureRecord | null;
  if (record?.e === 'q') {
    fill(record, DECIDED);
    return Object.assign(record, { r: requestOf(record.r), d: withScore(record.d) });
  }
  if (record?.e === 'body') return Object.assign(record, { r: requestOf(record.r) });
  if (record?.e === 'answer') return fill(record, PROMPT);
  if (record?.e === 'done') return fill(record, DONE);
  return record as CaptureRecord;
}

function requestOf(request: Partial<CapturedRequest>): CapturedRequest {
  const filled = isObject(request) ? request : {};
  return fill(filled, REQUEST) as CapturedRequest;
}

/** Sets what is missing in the object itself: a copy takes as long as reading its JSON. */
function fill<T extends object>(record: T, defaults: Readonly<Record<string, unknown>>): T {
  for (const key in defaults) {
    if (!Object.hasOwn(record, key)) (record as Record<string, unknown>)[key] = defaults[key];
  }
  return record;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** A missing score is NaN. JSON has no NaN: earlier versions wrote null. */
function withScore(decision: CapturedDecision): CapturedDecision {
  if (typeof decision !== 'object' || decision === null || 'error' in decision) return decision;
  const { score = null } = decision as { readonly score?: number | null };
  return score === null ? { ...decision, score: Number.NaN } : decision;
}
