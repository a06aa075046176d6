import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPicker } from '../load/bed.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { compare } from './compare.ts';
import { overheadOptions, overheadText } from './options.ts';

const ABOUT = `CPU for each request through a real Envoy, of a picker that shares over NATS and of one that does not, in turn. What the picker
that it shares with takes to read and book the request belongs to the cost. Messages are marked with a key.`;

const SHARE_MAX = 0.03;
const KEY = 'a key of the bench, longer than 16 bytes';

const options = await overheadOptions('sharing', ABOUT);
if (options !== undefined) {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-sharing-'));
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, KEY);
  const nats = await startNatsServer();
  const shares = ['--replicas-nats', nats.url, '--replicas-key-file', keyFile];
  const results = [];
  for (const endpoints of options.endpoints) {
    const comparison = {
      endpoints,
      flags: { without: [], with: shares },
      ...options.effort,
      attach: async ({ addresses }: { readonly addresses: readonly string[] }) => {
        const serving = { config: 'default', flags: shares };
        const peer = await startPicker(serving, addresses, options.tools);
        return { pid: peer.pid, stop: () => void peer.stop() };
      },
    };
    const overhead = await compare(comparison, options.tools, async () => undefined);
    results.push({ endpoints, overhead });
    if (options.json) continue;
    process.stdout.write(`${endpoints} endpoints: ${overheadText(overhead)}\n`);
  }
  await nats.kill();
  rmSync(folder, { recursive: true });
  const document = { bench: 'sharing', machine: options.machine, results };
  if (options.json) process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
  process.exitCode = results.every(({ overhead }) => overhead.share.median < SHARE_MAX) ? 0 : 1;
}
