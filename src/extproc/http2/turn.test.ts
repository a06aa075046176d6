import { expect, it } from 'vitest';
import { Http2Peer, headers, REQUEST } from '../../../test/support/session/http2-peer.ts';
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
