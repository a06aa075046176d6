import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type CallStream, releaseStreamOnClose } from './release-stream.ts';

function setUp() {
  const heard: string[] = [];
  const http2 = new EventEmitter();
  const stream: CallStream & { call: { sendMessage?: () => void; stream?: object } } =
    Object.assign(new EventEmitter(), { call: { sendMessage: () => void heard.push('sent') } });
  http2.once('close', () => heard.push('http2'));
  stream.on('data', () => heard.push('data'));
  releaseStreamOnClose(http2, stream, () => heard.push('last'));
  http2.on('close', () => heard.push('http2 again'));
  return { http2, stream, heard };
}

it('unties a stream that is over from its request, when all have heard of it', async () => {
  const { http2, stream, heard } = setUp();
  stream.emit('data');
  http2.emit('close');
  stream.emit('data');
  expect(heard).toEqual(['data', 'http2', 'http2 again', 'data']);
  await turn();
  expect(heard.at(-1)).toBe('last');
  stream.emit('data');
  expect(heard.at(-1)).toBe('last');
  expect([...http2.eventNames(), ...stream.eventNames()]).toEqual(['error', 'error']);
});

it('takes what comes late without a word', async () => {
  const { http2, stream, heard } = setUp();
  http2.emit('close');
  await turn();
  stream.call.sendMessage?.();
  http2.emit('error', new Error('late'));
  stream.emit('error', new Error('late'));
  expect(heard).toEqual(['http2', 'http2 again', 'last']);
  expect(stream.call).toHaveProperty('stream.cork');
});
