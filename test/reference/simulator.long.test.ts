import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { buildReferenceSimulator } from '../../bench/support/reference-simulator.ts';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import {
  answers,
  freePorts,
  type Program,
  SIDECAR,
  spawnProgram,
  startProgram,
} from '../scenarios/processes.ts';

/** Behind a real Envoy, before llm-d's own simulator, built from its Go module. */

const log = (line: string): void => void process.stderr.write(`${line}\n`);
const built = await buildReferenceSimulator(log);
const simulator = 'unavailable' in built ? '' : built.path;
if ('unavailable' in built) log(`SKIPPED: every test with the simulator. ${built.unavailable}`);
const binary = await envoyBinary();

const COUNT = 3;
/** Of the prompts for one server, of 120 tokens each. */
const BLOCKS = 4 * 7;
const PROMPTS = Array.from({ length: 12 }, (_, prompt) =>
  Array.from({ length: 120 }, (_, word) => `word${prompt}x${(word * 7) % 31}`).join(' '),
);

describe.skipIf(simulator === '' || binary === undefined)('llm-d’s simulator', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-simulator-'));
  const programs: Program[] = [];
  let stack: Stack | undefined;
  afterEach(async () => {
    await stack?.stop();
    stack = undefined;
    await Promise.all(programs.splice(0).map((program) => program.kill()));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Servers with an address each: the topics of their events name a host, and no port. */
  async function startServers(flags: readonly string[]): Promise<readonly string[]> {
    const first = await freePorts(COUNT);
    const addresses = Array.from({ length: COUNT }, (_, at) => `127.0.0.${11 + at}:${first + at}`);
    for (const [at, address] of addresses.entries()) {
      const [ip = '', port = ''] = address.split(':');
      const args = ['--model', 'm', '--force-dummy-tokenizer', '--seed', '1', '--port', port];
      const environment = { POD_IP: ip, POD_NAME: `server-${at}`, POD_NAMESPACE: 'test' };
      programs.push(spawnProgram(simulator, [...args, '--enable-kvcache', ...flags], environment));
    }
    for (const address of addresses) await answers(`http://${address}/health`);
    return addresses;
  }

  it.each([
    ['lists', []],
    ['maps', ['--use-vllm-map-event-format']],
  ])(
    '[D586] [D596] has its events as %s, and 12 of 12 prompts of each API go where they are cached',
    async (_, flags) => {
      const zmq = `tcp://127.0.0.1:${await freePorts(1)}`;
      const servers = await startServers(['--block-size', '16', '--zmq-endpoint', zmq, ...flags]);
      const config = join(folder, 'config.yaml');
      writeFileSync(config, JSON.stringify(preciseConfig(zmq, servers[0] ?? '')));
      stack = await startStack(binary ?? '', { envoy: 'envoy', endpoints: servers, config });
      const { url, serving } = stack;
      await eventsOfAll(servers, serving.metricsPort);
      for (const api of [completion, chat, responses, messages]) {
        const before = await blocksOf(serving.metricsPort);
        for (const [at, prompt] of PROMPTS.entries()) {
          await api(`http://${servers[at % COUNT]}`, prompt);
        }
        await eventually(
          () => blocksOf(serving.metricsPort),
          (now) => now.every((blocks, at) => blocks >= (before[at] ?? 0) + BLOCKS),
        );
        const served = await Promise.all(PROMPTS.map((prompt) => api(url, prompt)));
        expect(served).toEqual(PROMPTS.map((_, at) => `server-${at % COUNT}`));
      }
    },
  );

  it.each([
    ['completion', completion],
    ['chat', chat],
  ])(
    '[D586] computes the prompt of a %s for another server, through the sidecar',
    async (_, api) => {
      const [prefill = '', decode = ''] = await startServers([
        '--zmq-endpoint',
        'tcp://127.0.0.1:1',
      ]);
      const port = decode.split(':')[1] ?? '';
      const args = ['--port=0', `--model-server-port=${port}`, '--secure-serving=false'];
      const sidecar = startProgram(SIDECAR, args, ['--host=127.0.0.1', '--json']);
      programs.push(sidecar);
      const { address } = (await sidecar.document) as { readonly address: string };
      const headers = { 'x-prefiller-host-port': prefill };
      expect(await api(`http://${address}`, PROMPTS[0] ?? '', headers)).toBe('server-1');
      const page = await (await fetch(`http://${prefill}/metrics`)).text();
      expect(page).toMatch(/^vllm:request_success_total\{finish_reason="remote_decode".*\} 1$/m);
    },
  );
});

/** Returns the server that answered. */
function completion(url: string, prompt: string, headers: object = {}): Promise<string | null> {
  return post(`${url}/v1/completions`, { prompt }, headers);
}

function chat(url: string, content: string, headers: object = {}): Promise<string | null> {
  const messages = [
    { role: 'system', content: 'be kind' },
    { role: 'user', content },
  ];
  return post(`${url}/v1/chat/completions`, { messages }, headers);
}

/** With the system text in the input: the simulator leaves out `instructions`. */
function responses(url: string, prompt: string): Promise<string | null> {
  const content = [{ type: 'input_text', text: prompt }];
  const input = [
    { role: 'system', content: [{ type: 'input_text', text: 'be short' }] },
    { role: 'user', content },
  ];
  return post(`${url}/v1/responses`, { input, max_output_tokens: 2 }, {});
}

function messages(url: string, text: string): Promise<string | null> {
  const body = {
    system: 'be quick',
    messages: [{ role: 'user', content: [{ type: 'text', text }] }],
  };
  return post(`${url}/v1/messages`, body, {});
}

async function post(url: string, body: object, headers: object): Promise<string | null> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'm', max_tokens: 2, ...body }),
  });
  expect(await response.json()).toMatchObject({ model: 'm' });
  return response.headers.get('x-inference-pod');
}

/** Asks the servers until events of each have come: those of before it is connected are lost. */
async function eventsOfAll(servers: readonly string[], metricsPort: number): Promise<void> {
  let asked = 0;
  await eventually(
    async () => {
      const prompt = `first ${asked} `.repeat(16);
      asked += 1;
      for (const server of servers) await completion(`http://${server}`, prompt);
      return blocksOf(metricsPort);
    },
    (blocks) => blocks.every((count) => count > 0),
  );
}

/** How many blocks of each endpoint are known by its events. */
async function blocksOf(metricsPort: number): Promise<readonly number[]> {
  const response = await fetch(`http://127.0.0.1:${metricsPort}/debug/endpoints`);
  const { endpoints } = (await response.json()) as {
    readonly endpoints: readonly { readonly kvEvents?: readonly { readonly blocks: number }[] }[];
  };
  return endpoints.map(({ kvEvents = [] }) => kvEvents[0]?.blocks ?? 0);
}

/** The servers connect to the picker, and the first of them has the tokens of prompts. */
function preciseConfig(zmqEndpoint: string, tokenizer: string): object {
  const producer = 'precise-prefix-cache-producer';
  const kvEventsConfig = { discoverPods: false, zmqEndpoint };
  return {
    apiVersion: 'llm-d.ai/v1alpha1',
    kind: 'EndpointPickerConfig',
    plugins: [
      {
        type: producer,
        parameters: { tokenProcessorConfig: { blockSizeTokens: 16 }, kvEventsConfig },
      },
      {
        type: 'token-producer',
        // A busy machine may be slow: a prompt without tokens would go anywhere.
        parameters: { modelName: 'm', vllm: { url: `http://${tokenizer}`, timeout: '60s' } },
      },
      { type: 'prefix-cache-scorer', parameters: { prefixMatchInfoProducerName: producer } },
      { type: 'max-score-picker' },
    ],
    schedulingProfiles: [
      {
        name: 'default',
        plugins: [{ pluginRef: 'prefix-cache-scorer' }, { pluginRef: 'max-score-picker' }],
      },
    ],
  };
}
