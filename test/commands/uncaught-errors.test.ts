import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import {
  type Answer,
  processorClient,
  requestBody,
  requestHeaders,
} from '../support/grpc/ext-proc-client.ts';
import { startProgram } from '../support/programs/started-program.ts';

/** Errors that no part of the picker catches: those of a plugin's own timers and promises. */

const folder = mkdtempSync(join(tmpdir(), 'pointsman-uncaught-'));
afterAll(() => rmSync(folder, { recursive: true }));

const PLUGIN = `
export const plugins = {
  scorers: [{
    type: 'stray-scorer',
    config: { parse: () => ({}) },
    create: () => ({
      score: (endpoints) => endpoints.map(() => 1),
      onRouted: ({ request }) => {
        if (request.model === 'throws') setTimeout(() => { throw new Error('stray throw'); }, 0);
        if (request.model === 'rejects') void Promise.reject(new Error('stray rejection'));
      },
    }),
  }],
};
`;
const CONFIG = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{ type: stray-scorer }]
`;
const HEADERS = requestHeaders({ ':method': 'POST', ':path': '/v1/completions' });
const body = (model: string): object => requestBody(JSON.stringify({ model, prompt: 'hello' }));

it.each([
  ['throws', 'stray throw'],
  ['rejects', 'stray rejection'],
])(
  '[V38] an error that nothing catches (%s) is logged; requests under way end before the process does, with code 1',
  async (model, message) => {
    const [plugin, config] = [join(folder, `${model}.mjs`), join(folder, `${model}.yaml`)];
    writeFileSync(plugin, PLUGIN);
    writeFileSync(config, CONFIG);
    const args = ['--plugin', plugin, '--config', config, '--endpoints', '127.0.0.1:9'];
    const ports = ['--host', '127.0.0.1', '--extproc-port', '0', '--metrics-port', '0'];
    const rest = ['--insecure', '--drain-notice-ms', '0', '--drain-timeout-ms', '30000'];
    const picker = await startProgram<{ readonly extProcPort: number }>([
      'serve',
      ...args,
      ...ports,
      ...rest,
    ]);
    const { exited, lines: log } = picker;
    try {
      const { extProcPort } = picker.document;
      const client = processorClient(extProcPort);
      const underWay = client.Process();
      underWay.write(HEADERS);
      // On the same connection, so that the picker has the other stream when it begins to drain.
      const stray = client.Process();
      const strayEnded = once(stray.resume(), 'end');
      stray.write(HEADERS);
      stray.write(body(model));
      stray.end();
      await strayEnded;
      await eventually(
        () => log.some((each) => each.includes('"draining"')),
        (begun) => begun,
      );
      // The drain waits for this request, which is decided while it does.
      const answered = once(underWay, 'data');
      underWay.write(body('m'));
      expect((await answered)[0] as Answer).toMatchObject({ response: 'request_headers' });
      underWay.end();
      client.close();
      expect(await exited).toEqual([1, null]);
      const error = log.find((each) => each.includes('an error that nothing caught'));
      expect(error).toContain(message);
    } finally {
      picker.child.kill('SIGKILL');
    }
  },
);
