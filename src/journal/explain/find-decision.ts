import { hashOf, keptText } from './byte-log.ts';
import type { Segment } from './decision-ring.ts';
import { type RecordedDecision, SegmentReader } from './segment-reader.ts';

/** A decision where it stands. */
export interface FoundDecision {
  readonly segment: Segment;
  /** Of all that the picker has made, from 0. */
  readonly number: number;
  readonly decision: RecordedDecision;
}

/** The latest decision on a request, by our own id or the one that the client or the proxy gave it. */
export function findDecision(segments: readonly Segment[], id: string): FoundDecision | undefined {
  // A request without an id from outside has an empty one.
  if (id === '') return undefined;
  const hash = hashOf(id);
  const kept = keptText(id);
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

export function decisionAt(segment: Segment, index: number): FoundDecision {
  const reader = new SegmentReader(segment);
  for (let before = 0; before < index; before++) reader.next(false);
  return { segment, number: segment.first + index, decision: reader.next(true) };
}
