import { expect, it } from 'vitest';
import {
  data,
  framesOf,
  Http2Peer,
  headers,
  REQUEST,
} from '../../../test/support/session/http2-peer.ts';
import { FRAME } from './frames.ts';

const BODY = [Buffer.from('hello')];

it('[P47] what a read brings has been sent when the read is over, in one write', () => {
  const peer = new Http2Peer().begin();
  const written = peer.transport.writes;
  const sent: number[] = [];
  peer.onOpen = (stream) => {
    stream.respond(REQUEST);
    stream.afterTurn(() => stream.send(BODY, () => void sent.push(stream.id)));
  };
  // Without a turn of the event loop after it.
  peer.connection.receive(Buffer.concat([headers(1), headers(3)]));
  expect(sent).toEqual([1, 3]);
  expect(peer.transport.writes - written).toBe(1);
  expect(peer.frames().map(({ type, streamId }) => [type, streamId])).toEqual([
    [FRAME.headers, 1],
    [FRAME.headers, 3],
    [FRAME.data, 1],
    [FRAME.data, 3],
  ]);
});

it('[P47] what comes in a turn without a read is sent when the turn is over, in one write', () => {
  const peer = new Http2Peer().begin();
  peer.receive(headers(1), headers(3));
  const written = peer.transport.writes;
  for (const id of [1, 3]) {
    peer.stream(id).respond(REQUEST);
    peer.stream(id).afterTurn(() => peer.stream(id).send(BODY, () => undefined));
  }
  expect(peer.transport.writes - written).toBe(0);
  expect(peer.frames()).toHaveLength(4);
  expect(peer.transport.writes - written).toBe(1);
});

it('[P58] what a read brings does not wait for requests that take long to decide', () => {
  const peer = new Http2Peer().begin();
  peer.receive(headers(1));
  const ids = [3, 5, 7, 9, 11, 13];
  const answered: number[] = [];
  const answeredAtOpen: number[] = [];
  peer.onData = (stream) => stream.afterTurn(() => stream.send(BODY, () => undefined));
  peer.onOpen = (stream) => {
    answered.push(...dataFrames(peer));
    answeredAtOpen.push(answered.length);
    peer.transport.nowMs += 5;
    stream.afterTurn(() => stream.send(BODY, () => undefined));
  };
  const written = peer.transport.writes;
  peer.connection.receive(Buffer.concat([...ids.map((id) => headers(id)), data(1, 'token')]));
  answered.push(...dataFrames(peer));
  // Every 10 ms; the stream that was open before has its answer with the first ones.
  expect(answeredAtOpen).toEqual([0, 0, 3, 3, 5, 5]);
  expect(answered).toEqual([1, ...ids]);
  expect(peer.transport.writes - written).toBe(3);
});

/** The streams of the DATA frames that have left since the last call. */
function dataFrames({ transport }: Http2Peer): number[] {
  return framesOf(transport.take())
    .filter(({ type }) => type === FRAME.data)
    .map(({ streamId }) => streamId);
}
