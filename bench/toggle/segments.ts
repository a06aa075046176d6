import { type ClientHttp2Session, connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMs } from '../direct/cpu-ms.ts';
import type { PreparedRequest } from '../direct/requests.ts';
import { sendRequest } from '../direct/send-request.ts';

/** Requests of one side for some time, and the CPU that they took. */
export interface Segment {
  readonly requests: number;
  /** CPU of the pickers' process for each request. */
  readonly ownMs: number;
  /** CPU of both pickers' processes for each request; that of the one where there is no other. */
  readonly allMs: number;
}

export interface Measured {
  readonly session: ClientHttp2Session;
  /** The process of the pickers, and that of another picker which has work by this side. */
  readonly own: number;
  readonly peer: number | undefined;
}

export interface SegmentLength {
  readonly segmentMs: number;
  /** What is gathered and sent later, such as spans, is sent within this time and counts, too. */
  readonly settleMs: number;
}

const LANES = 16;

export function openSession(port: number): ClientHttp2Session {
  return connect(`http://127.0.0.1:${port}`);
}

export async function measureSegment(
  { session, own, peer }: Measured,
  requests: readonly PreparedRequest[],
  { segmentMs, settleMs }: SegmentLength,
): Promise<Segment> {
  const ofPeer = (): number => (peer === undefined ? 0 : cpuMs(peer, 'all'));
  const [ownBefore, peerBefore] = [cpuMs(own, 'all'), ofPeer()];
  const until = performance.now() + segmentMs;
  let sent = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < until) {
      const request = requests[sent++ % requests.length];
      if (request !== undefined) await sendRequest(session, request);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  await sleep(settleMs);
  const ownMs = (cpuMs(own, 'all') - ownBefore) / sent;
  return { requests: sent, ownMs, allMs: ownMs + (ofPeer() - peerBefore) / sent };
}
