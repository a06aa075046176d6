import { decode } from '@msgpack/msgpack';
import { expect, it } from 'vitest';
import { Subscriber } from 'zeromq';
import { stubPoolForTests } from './stub-pool.ts';

const stub = stubPoolForTests({ count: 1, kvEventsPort: 0, kvEventsReplayPort: 0 });

it('publishes the blocks a request fills, with the tokens in them', async () => {
  const [events] = stub.pool().kvEvents;
  const subscriber = new Subscriber();
  subscriber.connect(events?.endpoint ?? '');
  subscriber.subscribe('kv@127.0.0.1:');
  try {
    const received = subscriber.receive();
    let sent = 0;
    // Each prompt is new, so each stores blocks; the first ones may come before the subscription
    // does.
    const answers: Promise<unknown>[] = [];
    const timer = setInterval(() => {
      sent += 1;
      const answer = fetch(stub.url('/v1/completions'), {
        method: 'POST',
        body: JSON.stringify({ model: 'm', prompt: `${sent} is new. `.repeat(40), max_tokens: 1 }),
      });
      answers.push(answer.then((response) => response.text()));
    }, 20);
    const [, , payload] = await received;
    clearInterval(timer);
    await Promise.all(answers);
    const [, batch] = decode(payload ?? new Uint8Array()) as [number, unknown[][]];
    const stored = batch.find(([type]) => type === 'BlockStored');
    const [, hashes, parent, tokens, blockSize] = stored as [
      string,
      number[],
      null,
      number[],
      number,
    ];
    expect(parent).toBeNull();
    expect(blockSize).toBe(16);
    expect(tokens).toHaveLength(16 * hashes.length);
    expect(Buffer.from(Int32Array.from(tokens).buffer).toString()).toMatch(/^\d+ is new\. /);
  } finally {
    subscriber.close();
  }
});
