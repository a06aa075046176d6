import { describe, expect, it } from 'vitest';
import { addressesOf, scrapesSeen, startUpstream } from './bed.ts';

describe.skipIf(process.platform !== 'linux')('model servers as pods', () => {
  it('[D572] each has an address of its own, all with the same port, and its metrics page', async () => {
    const shape = { endpoints: 3, page: 'real', answerChunks: 0, asPods: true } as const;
    const upstream = await startUpstream(shape, { log: () => undefined });
    try {
      const addresses = addressesOf(upstream);
      const [host, port] = [0, 1].map((part) => addresses.map((each) => each.split(':')[part]));
      expect([new Set(host).size, new Set(port).size]).toEqual([3, 1]);
      for (const address of addresses) {
        const page = await (await fetch(`http://${address}/metrics`)).text();
        expect(page).toContain('vllm:num_requests_waiting');
      }
      expect(await scrapesSeen(addresses[2] ?? '')).toBe(3);
    } finally {
      await upstream.stop();
    }
  });
});
