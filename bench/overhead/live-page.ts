import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import { LiveCounts } from '../../src/serve/live/live-counts.ts';
import { compare } from './compare.ts';
import { addedBy, addedShare, addedText, type MakePicker } from './decisions.ts';
import { messageShare } from './live-message.ts';
import { overheadOptions, overheadText } from './options.ts';
import { view } from './view.ts';

const ABOUT = `CPU of the picker for each request through a real Envoy, with a viewer of the live page and without one, in turn; then
the CPU of the messages alone, and what the page's counts add to a request without any viewer.`;

const SHARE_MAX = 0.02;

const bare: MakePicker = (options) => ({ picker: new EndpointPicker(options) });
const counted: MakePicker = (options) => ({
  picker: new EndpointPicker({
    ...options,
    subscribers: [new LiveCounts(options.runtime.clock)],
  }),
});

const options = await overheadOptions('live-page', ABOUT);
if (options !== undefined) {
  const results = [];
  for (const endpoints of options.endpoints) {
    let bytes = 0;
    const flags = { without: [], with: [] };
    const comparison = {
      endpoints,
      flags,
      ...options.effort,
      attach: async ({ metricsPort }: { readonly metricsPort: number }) => {
        const viewer = await view(metricsPort);
        const stop = (): void => {
          bytes += viewer.bytes();
          viewer.stop();
        };
        return { stop };
      },
    };
    const overhead = await compare(comparison, options.tools, async () => undefined);
    const added = await addedBy(bare, counted, endpoints);
    const message = messageShare(endpoints);
    results.push({ endpoints, overhead, added, bytes, message });
    if (options.json) continue;
    process.stdout.write(
      `${endpoints} endpoints: ${overheadText(overhead)}; ${(bytes / 1e6).toFixed(1)} MB sent\n` +
        `  the messages of a second take ${(100 * message.share).toFixed(2)} % of a core, the last one ${message.bytes} bytes\n` +
        `  without a viewer: ${addedText(added, overhead.withoutMs)}\n`,
    );
  }
  const document = { bench: 'live-page', machine: options.machine, results };
  if (options.json) process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
  const held = results.every(
    ({ overhead, added, message }) =>
      message.share < SHARE_MAX && addedShare(added, overhead.withoutMs) < SHARE_MAX,
  );
  process.exitCode = held ? 0 : 1;
}
