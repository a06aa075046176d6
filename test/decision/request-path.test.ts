import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { serveOptions } from '../../bench/support/stack.ts';
import { catalogueOf } from '../../src/catalogue/built-in-catalogue.ts';
import { dataSources } from '../../src/catalogue/data-sources.ts';
import { loadConfig } from '../../src/config/load.ts';
import { defineScorer } from '../../src/framework/plugin.ts';
import { startServe } from '../../src/serve/serve.ts';
import { exchange, requestBody, requestHeaders } from '../support/grpc/ext-proc-client.ts';

/**
 * How short the way of a request is, from a message of its stream to a score. What is before the
 * stream's data event, the socket and HTTP/2, does not count.
 */

const FRAMES_MAX = 9;
const FILES_MAX = 7;
const BEFORE_THE_STREAM = /^src\/extproc\/(?:http2\/|server\/port\/)/;

const root = join(import.meta.dirname, '..', '..');
let stack: readonly string[] = [];

/** Where the stack is taken: as deep as the decision gets. */
const probe = defineScorer({
  type: 'probe-scorer',
  config: z.strictObject({}),
  create: () => ({
    score: (endpoints) => {
      const limit = Error.stackTraceLimit;
      Error.stackTraceLimit = 100;
      stack = (new Error('here').stack ?? '').split('\n').slice(1);
      Error.stackTraceLimit = limit;
      return endpoints.map(() => 1);
    },
  }),
});

const plan = loadConfig({
  text: `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{ type: probe-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: probe-scorer }] }]
`,
  source: 'test',
  catalogue: catalogueOf([probe], dataSources),
});
const serving = await startServe(serveOptions({ plan, endpoints: ['127.0.0.1:9'] }));
afterAll(() => serving.stop());

/** The frames of our own code, deepest first. */
function ownFrames(): readonly { readonly file: string; readonly frame: string }[] {
  return stack.flatMap((frame) => {
    const url = /(?:file:\/\/)?(\/[^):]+\.ts)/.exec(frame)?.[1];
    if (url === undefined) return [];
    const path = existsSync(url) ? url : fileURLToPath(`file://${url}`);
    const file = relative(root, path);
    const outside = file.startsWith('..') || file.startsWith('node_modules');
    return outside || BEFORE_THE_STREAM.test(file) ? [] : [{ file, frame }];
  });
}

it('[T9] takes a request from its stream to a score in at most 9 frames and 7 files', async () => {
  const body = JSON.stringify({ model: 'm', prompt: 'hello', stream: true });
  const headers = { ':method': 'POST', ':path': '/v1/completions' };
  await exchange(serving.extProcPort, [requestHeaders(headers), requestBody(body)]);
  const frames = ownFrames();
  const shown = frames.map(({ frame }) => frame.trim()).join('\n');
  expect(frames.length, `no frames: ${stack.join('\n')}`).toBeGreaterThan(3);
  expect(frames.at(-1)?.file, shown).toBe('src/extproc/server/calls/run-session.ts');
  expect(frames.length, shown).toBeLessThanOrEqual(FRAMES_MAX);
  expect(new Set(frames.map(({ file }) => file)).size, shown).toBeLessThanOrEqual(FILES_MAX);
  // The page that shows the way names the same files.
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  for (const { file } of frames) {
    if (file.startsWith('src/')) expect(page).toContain(file.replace(/^src\//, ''));
  }
});
