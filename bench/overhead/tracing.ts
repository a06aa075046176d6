import { startCollector } from './collector.ts';
import { compare } from './compare.ts';
import { overheadOptions, overheadText } from './options.ts';

const ABOUT = `CPU of the picker for each request through a real Envoy, with --tracing and without it, in turn. A tenth of the requests is
written, or OTEL_TRACES_SAMPLER_ARG of them, and sent over HTTP to a collector that drops them.`;

const SHARE_MAX = 0.03;

const options = await overheadOptions('tracing', ABOUT);
if (options !== undefined) {
  const collector = await startCollector();
  // The pickers inherit them.
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = collector.url;
  process.env['OTEL_EXPORTER_OTLP_PROTOCOL'] = 'http/protobuf';
  process.env['OTEL_TRACES_SAMPLER'] ??= 'parentbased_traceidratio';
  process.env['OTEL_TRACES_SAMPLER_ARG'] ??= '0.1';
  const results = [];
  for (const endpoints of options.endpoints) {
    const sentBefore = collector.bytes();
    const flags = { without: [], with: ['--tracing'] };
    const comparison = { endpoints, flags, ...options.effort };
    const overhead = await compare(comparison, options.tools, async () => undefined);
    const bytes = collector.bytes() - sentBefore;
    results.push({ endpoints, overhead, bytes });
    if (options.json) continue;
    process.stdout.write(
      `${endpoints} endpoints: ${overheadText(overhead)}; ${(bytes / 1e6).toFixed(1)} MB of spans\n`,
    );
  }
  collector.stop();
  const document = { bench: 'tracing', machine: options.machine, results };
  if (options.json) process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
  const held = results.every(
    ({ overhead, bytes }) => overhead.share.median < SHARE_MAX && bytes > 0,
  );
  process.exitCode = held ? 0 : 1;
}
