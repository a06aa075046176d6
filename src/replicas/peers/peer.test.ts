import { describe, expect, it } from 'vitest';
import { startPicker } from '../../../test/replicas/pickers.ts';
import { NO_BLOCKS } from '../../framework/request.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { SimulatedNetwork } from '../links/simulated-network.ts';
import type { Entry } from '../messages/entries.ts';
import { Bookings } from './bookings.ts';
import { Doubts } from './doubts.ts';
import { Peer } from './peer.ts';
import { TimeShare } from './time-share.ts';

const IDLE = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

function peerOf(clock: SimulatedClock, picker: EndpointPicker): Peer {
  const time = new TimeShare(clock, 1);
  const doubts = new Doubts(clock);
  const blockTokens = () => undefined;
  const parts = { picker, bookings: new Bookings(), doubts, blockTokens, time, intervalMs: 50 };
  return new Peer({ id: 'other', boot: 1 }, parts, 0);
}

const routedEntry = (
  endpoint: string,
  prefill: string | undefined,
  firstTokenVisible: boolean,
): Entry => ({
  kind: 'routed',
  number: 1,
  afterMs: 0,
  endpoint,
  prefill,
  model: 'm',
  objective: undefined,
  fairnessId: 'f',
  priority: 0,
  streaming: true,
  firstTokenVisible,
  promptTokens: 100,
  cachedTokens: 0,
  outputTokensMax: undefined,
  bodyBytes: 400,
  load: IDLE,
  prompt: NO_BLOCKS,
});

/**
 * Where the peer's request counts, whose prompt is computed elsewhere: before its first token, and
 * after.
 */
function claimed(firstTokenVisible: boolean): readonly string[] {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  const { picker } = startPicker('own', { clock, openLink: network.open });
  const [decodes = '', computes] = picker.pool.snapshot().map(({ id }) => id as string);
  const peer = peerOf(clock, picker);
  const routed = routedEntry(decodes, computes, firstTokenVisible);
  const first: Entry = { kind: 'first-token', number: 1, afterMs: 5, address: '' };
  const places = [routed, first].map((entry) => {
    peer.apply([entry], 0);
    const claims = new Map<string, number>();
    peer.addClaims(claims);
    const [address = ''] = claims.keys();
    return address === picker.pool.snapshot()[0]?.address ? 'decode' : 'prefill';
  });
  return places;
}

it('[G229] ends a request that is open when pick and end come in one piece', () => {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  const { picker, loads } = startPicker('own', { clock, openLink: network.open });
  const peer = peerOf(clock, picker);
  const routed = routedEntry(picker.pool.snapshot()[0]?.id ?? '', undefined, true);
  const done: Entry = {
    kind: 'done',
    number: 1,
    afterMs: 5,
    outcome: 'completed',
    usage: undefined,
  };
  peer.apply([routed], 0);
  expect([peer.requests.size, loads()]).toEqual([1, [1, 0, 0, 0]]);
  peer.apply([routed, done], 0);
  expect([peer.requests.size, loads()]).toEqual([0, [0, 0, 0, 0]]);
  peer.apply([routed, done], 0);
  expect([peer.requests.size, loads()]).toEqual([0, [0, 0, 0, 0]]);
});

describe('a request of another replica whose prompt is computed elsewhere', () => {
  it('[V371] counts where its prompt is computed until its first token, where that will be seen', () => {
    expect(claimed(true)).toEqual(['prefill', 'decode']);
  });

  it('[V371] counts where it is decoded, where no first token will be seen', () => {
    expect(claimed(false)).toEqual(['decode', 'decode']);
  });
});

it('says how long its last message took, and never less than nothing', () => {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  const { picker } = startPicker('own', { clock, openLink: network.open });
  const peer = peerOf(clock, picker);
  const lags = [30, 7, -5].map((lagMs, at) => {
    peer.received(100, at, lagMs);
    return peer.lagMs;
  });
  expect(lags).toEqual([30, 7, 0]);
  expect([peer.counts.bytes, peer.receivedAt]).toEqual([300, 2]);
});
