import { ByteLog, RecordReader } from './bytes.ts';
import type { Segment } from './decision-ring.ts';
import { type RecordedDecision, SegmentReader } from './segment-reader.ts';

/** A decision with the segment that it is in. */
export interface FoundDecision {
  readonly segment: Segment;
  /** Counts all decisions that were recorded, from 0. */
  readonly number: number;
  readonly decision: RecordedDecision;
}

/** The latest decision about a request, by our own id or by that of client or proxy. */
export function findDecision(segments: readonly Segment[], id: string): FoundDecision | undefined {
  // A request without an id of the client has an empty one.
  if (id === '') return undefined;
  const log = new ByteLog();
  const hash = log.text(id);
  const kept = new RecordReader(log.peek()).text();
  for (const segment of segments.toReversed()) {
    const { hashes } = segment;
    for (
      let at = hashes.lastIndexOf(hash);
      at >= 0;
      at = at === 0 ? -1 : hashes.lastIndexOf(hash, at - 1)
    ) {
      const found = decisionAt(segment, at >> 1);
      const { decision } = found;
      if (decision.id === kept || decision.requestId === kept) return found;
    }
  }
  return undefined;
}

function decisionAt(segment: Segment, index: number): FoundDecision {
  const reader = new SegmentReader(segment);
  for (let before = 0; before < index; before++) reader.next('without-scores');
  return { segment, number: segment.first + index, decision: reader.next('all') };
}
