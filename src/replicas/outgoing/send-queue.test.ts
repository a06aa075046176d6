import { describe, expect, it } from 'vitest';
import { SendQueue } from './send-queue.ts';

const MEGABYTE = 1024 * 1024;

/** A link that can be shut, and what it has sent: the first byte of each message. */
class ShutLink {
  isOpen = true;
  readonly sent: number[] = [];
  readonly queue: SendQueue = new SendQueue((message) => {
    if (this.isOpen) this.sent.push(message[0] ?? -1);
    return this.isOpen;
  });
}

describe('batches to a link', () => {
  it('[G221] sends what it could not send before in order, whatever its bytes hold by then', () => {
    const link = new ShutLink();
    const bytes = new Uint8Array(8);
    for (let n = 1; n <= 6; n++) {
      link.isOpen = n === 1 || n >= 5;
      link.queue.add(bytes.fill(n));
    }
    expect(link.sent).toEqual([1, 2, 3, 4, 5, 6]);
    expect(link.queue.counts).toEqual({ messages: 6, bytes: 48, dropped: 0 });
  });

  it('[G221] drops the oldest where more than 4 MB wait, and counts them', () => {
    const link = new ShutLink();
    link.isOpen = false;
    for (let n = 1; n <= 6; n++) link.queue.add(new Uint8Array(MEGABYTE).fill(n));
    expect(link.queue.counts).toEqual({ messages: 0, bytes: 0, dropped: 2 });
    link.isOpen = true;
    link.queue.add(new Uint8Array(1).fill(7));
    expect(link.sent).toEqual([3, 4, 5, 6, 7]);
  });

  it('[G221] sends nothing of what waited when the connection was lost', () => {
    const link = new ShutLink();
    link.isOpen = false;
    for (const n of [1, 2]) link.queue.add(new Uint8Array(1).fill(n));
    link.queue.drop();
    link.isOpen = true;
    link.queue.add(new Uint8Array(1).fill(3));
    expect(link.sent).toEqual([3]);
    expect(link.queue.counts).toEqual({ messages: 1, bytes: 1, dropped: 2 });
  });
});
