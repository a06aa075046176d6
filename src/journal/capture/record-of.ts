import { DEFAULT_FLOW } from '../../framework/request.ts';
import type { CapturedDecision, CapturedRequest, CaptureRecord } from './capture-record.ts';

/** The values of fields that a line leaves out. Earlier versions of the format write all fields. */
export const DEFAULT_BLOCK_TOKENS = 64;
const PROMPT = { blockTokens: DEFAULT_BLOCK_TOKENS, blocks: [] };
const REQUEST = { ...PROMPT, streaming: true, priority: 0, fairness: DEFAULT_FLOW };
const DONE = { o: 'completed' } as const;
const DECIDED = { firstTokenSeen: true, endSeen: true };

/** The record of a line, with defaults for what it leaves out. Throws SyntaxError only. */
export function recordOf(line: string): CaptureRecord {
  const record = JSON.parse(line) as CaptureRecord | null;
  if (record?.e === 'q') {
    return { ...DECIDED, ...record, r: requestOf(record.r), d: withScore(record.d) };
  }
  if (record?.e === 'body') return { ...record, r: requestOf(record.r) };
  if (record?.e === 'answer') return { ...PROMPT, ...record };
  if (record?.e === 'done') return { ...DONE, ...record };
  return record as CaptureRecord;
}

function requestOf(request: Partial<CapturedRequest>): CapturedRequest {
  return { ...REQUEST, ...request } as CapturedRequest;
}

/** A missing score is NaN. JSON has no NaN: earlier versions wrote null. */
function withScore(decision: CapturedDecision): CapturedDecision {
  if (typeof decision !== 'object' || decision === null || 'error' in decision) return decision;
  const { score = null } = decision as { readonly score?: number | null };
  return score === null ? { ...decision, score: Number.NaN } : decision;
}
