import { describe, expect, test } from 'vitest';
import { isSimulatorLine } from './is-simulator-line.ts';
import { readCommandLine } from './read-command-line.ts';

const NONE = { own: {}, ownNames: ['preset', 'count'], environment: {}, asSimulator: false };

function optionsOf(...args: string[]): Readonly<Record<string, unknown>> {
  return readCommandLine({ ...NONE, args }).options;
}

describe('flags of vLLM and llm-d-inference-sim', () => {
  test.each([
    ['two arguments', ['--max-num-seqs', '7', '--max-model-len', '8192']],
    ['one with =', ['--max-num-seqs=7', '--max-model-len=8192']],
    ['underscores', ['--max_num_seqs=7', '--max_model_len', '8192']],
    ['short numbers', ['--max-num-seqs=7', '--max-model-len=8K']],
    ['SGLang’s names', ['--max-running-requests=7', '--context-length=8192']],
    [
      'a flag given twice, of which the last counts',
      ['--max-num-seqs=1', '--max-num-seqs=7', '--max-model-len=8192'],
    ],
  ])('[B11] are read as %s', (_, args) => {
    expect(optionsOf(...args)).toMatchObject({ sequencesMax: 7, contextTokensMax: 8192 });
  });

  test.each([
    [['--enable-request-id-headers'], true],
    [['--enable-request-id-headers', 'true'], true],
    [['--enable-request-id-headers=T'], true],
    [['--enable-request-id-headers=0'], false],
    [['--enable-request-id-headers', 'FALSE'], false],
    [['--no-enable-request-id-headers'], false],
  ])('[B11] switch with Go’s booleans: %s', (args, expected) => {
    expect(optionsOf(...args)).toMatchObject({ requestIdHeaders: expected });
  });

  test.each([
    ['--scheduler-reserve-full-isl', true],
    ['--no-scheduler-reserve-full-isl', false],
  ])('[B260] say whether a whole prompt must fit: %s', (arg, expected) => {
    expect(optionsOf(arg)).toMatchObject({ wholePromptMustFit: expected });
  });

  test('[B11] take several values after one name, and names that repeat', () => {
    const adapters = ['--lora-modules', '{"name":"a","path":"/a"}', 'b=/b', '--lora-modules=c'];
    expect(optionsOf(...adapters, '--max-loras', '2')).toMatchObject({
      loras: ['a', 'b', 'c'],
      loraPaths: { a: '/a', b: '/b', c: 'c' },
      lorasMax: 2,
    });
    expect(optionsOf('--served-model-name', 'x', 'y')).toMatchObject({
      model: 'x',
      aliases: ['y'],
    });
    expect(optionsOf('--failure-types=rate_limit,server_error')).toMatchObject({
      failures: { types: ['rate_limit', 'server_error'] },
    });
  });

  test('[B11] take durations as Go writes them, and bare numbers as milliseconds', () => {
    const { timings } = optionsOf(
      '--time-to-first-token=1m1.5s',
      '--inter-token-latency=250us',
      '--prefill-overhead=12',
    );
    expect(timings).toMatchObject({
      firstTokenMs: 61_500,
      interTokenMs: 0.25,
      prefillOverheadMs: 12,
    });
  });

  test.each([
    [['--kv-offloading-size=20', '--kv-offloading-backend=native'], { gibibytes: 20 }],
    [
      [
        '--kv-transfer-config',
        '{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":{"num_cpu_blocks":41000}}',
      ],
      { blocks: 41_000 },
    ],
    [
      [
        '--kv-transfer-config={"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[{"kv_connector":"NixlConnector"},{"kv_connector":"OffloadingConnector","kv_connector_extra_config":{"cpu_bytes_to_use":1073741824}}]}}',
      ],
      { gibibytes: 1 },
    ],
    [['--kv-transfer-config={"kv_connector":"NixlConnector"}'], undefined],
  ])('[B28] give host memory to KV: %s', (args, expected) => {
    expect(optionsOf(...args)['hostTier']).toEqual(expected);
  });

  test('[B210] hold the KV of answers for the next turn where the connector is bidirectional', () => {
    const nixl =
      '{"kv_connector":"NixlConnector","kv_connector_extra_config":{"bidirectional_kv_xfer":true}}';
    const both = `{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[${nixl}]}}`;
    for (const config of [nixl, both]) {
      expect(optionsOf(`--kv-transfer-config=${config}`)).toMatchObject({ bidirectionalKv: true });
    }
    expect(optionsOf('--kv-transfer-config={"kv_connector":"NixlConnector"}')).not.toHaveProperty(
      'bidirectionalKv',
    );
  });

  test('[B12] that mean nothing here are named, once, and change nothing', () => {
    const args = [
      '--tensor-parallel-size',
      '8',
      '--v=4',
      '-tp',
      '2',
      '--no-enforce-eager',
      '--compilation-config.level=3',
    ];
    const { options, idle } = readCommandLine({ ...NONE, args });
    expect(idle).toEqual([
      '--tensor-parallel-size',
      '--v',
      '--no-enforce-eager',
      '--compilation-config.level',
    ]);
    expect(options).toEqual(optionsOf());
  });

  test.each([
    [['--max-num-seq=5'], /--max-num-seq: is no setting .*did you mean max-num-seqs\?/],
    [['--presett', 'x'], /--presett: .*did you mean preset\?/],
    [['stray'], /stray: is the value of no flag/],
    [['--max-num-seqs=many'], /--max-num-seqs: many is no/],
    [['--inter-token-latency=5x'], /--inter-token-latency: 5x is no duration/],
    [['--enable-kvcache=maybe'], /--enable-kvcache: maybe is not true or false/],
    [['--failure-types=fire'], /--failure-types\.0/],
    [['--max-loras=4', '--max-cpu-loras=2'], /--max-cpu-loras: is 2, below --max-loras \(4\)/],
    [['--mode=echo', '--dataset-path=a.jsonl'], /--dataset-path: cannot be used with --mode echo/],
    [['--ssl-certfile=a.pem'], /--ssl-certfile: and --ssl-keyfile need each other/],
  ])('[B12] are refused where neither program takes them: %s', (args, message) => {
    expect(() => optionsOf(...args)).toThrow(message);
  });

  test('[B13] win over the environment, which wins over the file', () => {
    const text =
      'model: of-file\nport: 9\nlatencies: {inter-token-latency: 3ms}\nkvcache: {block-size: 32}\n';
    const file = { name: 'sim.yaml', text };
    const environment = { SIM_MODEL: 'of-environment' };
    const read = (own: object): object =>
      readCommandLine({ ...NONE, args: [], own: { ...own }, environment, file }).options;
    expect(read({})).toMatchObject({
      model: 'of-environment',
      port: 9,
      blockTokens: 32,
      timings: { interTokenMs: 3 },
    });
    expect(read({ model: 'of-flag', port: 8 })).toMatchObject({ model: 'of-flag', port: 8 });
    const wrong = { name: 'sim.yaml', text: 'modell: m\n' };
    expect(() => readCommandLine({ ...NONE, args: [], file: wrong })).toThrow(/modell: .*model\?/);
  });

  test('[B10] without a command are llm-d-inference-sim’s, with its defaults', () => {
    expect(isSimulatorLine(['--port=8000', '--model=m'], {})).toBe(true);
    expect(isSimulatorLine(['--port=8000'], { SIM_MODEL: 'm' })).toBe(true);
    expect(isSimulatorLine(['--pool-name=p', '--config-file=f'], {})).toBe(false);
    expect(isSimulatorLine(['stub', '--model=m'], {})).toBe(false);
    const simulator = { ...NONE, asSimulator: true };
    expect(readCommandLine({ ...simulator, args: ['--model=m'] }).options).toMatchObject({
      count: 1,
      host: '0.0.0.0',
      sequencesMax: 5,
      contextTokensMax: 1024,
      waitingMax: 1000,
      prefixCaching: false,
      timings: { firstTokenMs: 0, interTokenMs: 0 },
    });
    expect(() => readCommandLine({ ...simulator, args: [] })).toThrow(/--model: is missing/);
  });

  test('[B10] publish KV events where vLLM’s or the simulator’s setting says', () => {
    const config = '{"enable_kv_cache_events":true,"endpoint":"tcp://*:5557","topic":"kv@a:1@m"}';
    expect(optionsOf('--kv-events-config', config)).toMatchObject({
      kvEventsTarget: { endpoint: 'tcp://*:5557', topic: 'kv@a:1@m' },
    });
    const zmq = '--zmq-endpoint=tcp://epp:5557';
    expect(optionsOf('--enable-kvcache', zmq)).toMatchObject({
      kvEventsTarget: { endpoint: 'tcp://epp:5557' },
    });
    expect(optionsOf('--enable-kvcache=false', zmq)).not.toHaveProperty('kvEventsTarget');
  });
});
