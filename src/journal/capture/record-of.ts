import { DEFAULT_FLOW } from '../../framework/request.ts';
import type { CapturedDecision, CapturedRequest, CaptureRecord } from './capture-record.ts';

/** What is left out of a line has these. Earlier versions write everything. */
export const DEFAULT_BLOCK_TOKENS = 64;
const PROMPT = { blockTokens: DEFAULT_BLOCK_TOKENS, blocks: [] };
const REQUEST = { ...PROMPT, streaming: true, priority: 0, fairness: DEFAULT_FLOW };
const DONE = { o: 'completed' } as const;
const ASKED = { firstTokenSeen: true, endSeen: true };

/** The record that a line holds, with its defaults. Throws SyntaxError; of what it should be nothing else is checked. */
export function recordOf(line: string): CaptureRecord {
  const record = JSON.parse(line) as CaptureRecord | null;
  if (record?.e === 'q') {
    return { ...ASKED, ...record, r: requestOf(record.r), d: decisionOf(record.d) };
  }
  if (record?.e === 'body') return { ...record, r: requestOf(record.r) };
  if (record?.e === 'answer') return { ...PROMPT, ...record };
  if (record?.e === 'done') return { ...DONE, ...record };
  return record as CaptureRecord;
}

function requestOf(told: Partial<CapturedRequest>): CapturedRequest {
  return { ...REQUEST, ...told } as CapturedRequest;
}

/** JSON has no NaN: earlier versions wrote null. */
function decisionOf(told: CapturedDecision): CapturedDecision {
  if (typeof told !== 'object' || told === null || 'error' in told) return told;
  const { score = null } = told as { readonly score?: number | null };
  return score === null ? { ...told, score: Number.NaN } : told;
}
