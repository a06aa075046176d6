import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { releaseStreamOnClose } from './release-stream.ts';

it('unties a stream that is over from its request, and takes what comes late without a word', () => {
  const http2 = new EventEmitter();
  const heard: string[] = [];
  http2.on('data', () => void heard.push('data'));
  releaseStreamOnClose(http2, () => void heard.push('closed'));
  http2.emit('data');
  http2.emit('error', new Error('of the stream'));
  http2.emit('close');
  http2.emit('data');
  http2.emit('close');
  http2.emit('error', new Error('late'));
  expect(heard).toEqual(['data', 'closed']);
  expect(http2.eventNames()).toEqual(['error']);
});
