import { describe, expect, it, test } from 'vitest';
import { ConfigError } from '../../framework/error.ts';
import { fromReferenceArgs } from './reference-args.ts';

const pool = ['--pool-name', 'p', '--pool-namespace=ns'];
const DRAIN = ['--drain-notice-ms=30000', '--drain-timeout-ms=600000'];
const BY_DEFAULT = ['--as-reference', '--deprecated-metrics', ...DRAIN];
/** The arguments of ours beside those of the pool and the reference's defaults. */
const ours = (...args: readonly string[]): readonly string[] => {
  const beside = ['--grpc-health-port=1', '--metrics-endpoint-auth=false', '--enable-pprof=false'];
  const translated = fromReferenceArgs([...pool, ...beside, ...args], {})?.args ?? [];
  const common = ['serve', '--pool-name=p', '--pool-namespace=ns', '--health-port=1'];
  return translated.filter((arg) => !common.includes(arg) && !BY_DEFAULT.includes(arg));
};

describe('the reference picker’s command line', () => {
  it('is one of serve, as the conformance suite has it', () => {
    const suite = ['--zap-encoder', 'json', '--grpc-port', '9002', '--grpc-health-port', '9003'];
    const translated = fromReferenceArgs([...pool, ...suite], {});
    expect(translated?.args).toEqual([
      'serve',
      '--pool-name=p',
      '--pool-namespace=ns',
      '--extproc-port=9002',
      '--health-port=9003',
      '--as-reference',
      '--deprecated-metrics',
      '--metrics-endpoint-auth',
      '--pprof',
      ...DRAIN,
    ]);
    expect(Object.keys(translated?.fixed ?? {})).toEqual(['--zap-encoder=json']);
  });

  it('has the reference’s defaults', () => {
    const args = [
      'serve',
      '--pool-name=p',
      '--as-reference',
      '--deprecated-metrics',
      '--health-port=9003',
    ];
    const of = (environment: Readonly<Record<string, string>>) =>
      fromReferenceArgs(['--pool-name=p'], environment)?.args;
    const rest = ['--metrics-endpoint-auth', '--pprof', ...DRAIN];
    expect(of({ NAMESPACE: 'mine' })).toEqual([...args, ...rest, '--pool-namespace=mine']);
    expect(of({})).toEqual([...args, ...rest, '--pool-namespace=default']);
    expect(of({ NAMESPACE: '' })).toEqual([...args, ...rest, '--pool-namespace=default']);
  });

  it.each([
    [['--config-file=/config/a.yaml'], ['--config=/config/a.yaml']],
    [['--config-text', '--- \nkind: x'], ['--config-text=--- \nkind: x']],
    [['--secure-serving=false'], ['--insecure']],
    [['--secure-serving=0'], ['--insecure']],
    [['--secure-serving'], []],
    [['--secure-serving', '--v=5'], ['--log-level=debug']],
    [['-v', '2'], ['--log-level=info']],
    [['-v=4'], ['--log-level=debug']],
    [['-v5'], ['--log-level=debug']],
    [['--zap-log-level=debug'], ['--log-level=debug']],
    [['--zap-log-level', '5'], ['--log-level=debug']],
    [['--zap-log-level', '1'], ['--log-level=info']],
    [['--zap-log-level', 'error', '-v=5'], ['--log-level=error']],
    [['--drain-timeout', '1m30s'], ['--drain-notice-ms=90000']],
    [['--drain-timeout=1s', '--drain-timeout=2s'], ['--drain-notice-ms=2000']],
    [['--ha-enable-leader-election'], ['--ha-enable-leader-election']],
    [['--ha-enable-leader-election=false'], []],
    [['-ha-enable-leader-election=true'], ['--ha-enable-leader-election']],
    [['--metrics-endpoint-auth'], ['--metrics-endpoint-auth']],
    [['--tls-min-version=VersionTLS13'], ['--tls-min-version=VersionTLS13']],
    [['--tls-cipher-suites', 'A', '--tls-cipher-suites=B'], ['--tls-cipher-suites=A,B']],
    [
      ['--cert-path=/certs', '--metrics-port', '9090'],
      ['--cert-path=/certs', '--metrics-port=9090'],
    ],
    [['--grpc-max-recv-msg-size=10MiB'], ['--max-message-bytes=10485760']],
    [['--grpc-max-send-msg-size', '25MB'], ['--max-sent-message-bytes=25000000']],
    [['--grpc-max-send-msg-size', ''], []],
    [['--refresh-metrics-interval=100ms'], ['--scrape-interval-ms=100']],
    [['--refresh-metrics-interval=10ms'], ['--scrape-interval-ms=50']],
    [['--refresh-metrics-interval=-1s'], ['--scrape-interval-ms=50']],
    [['--drain-timeout=-1s'], ['--drain-notice-ms=0']],
    [['--metrics-staleness-threshold=100us'], ['--metrics-stale-ms=1']],
    [
      ['--grpc-port=0x232a', '--metrics-port=9_090'],
      ['--extproc-port=9002', '--metrics-port=9090'],
    ],
    [['--grpc-port=010'], ['--extproc-port=8']],
    [['-v=0x5'], ['--log-level=debug']],
    [['--fairness-id-metric-label-limit=0o20'], ['--metrics-max-fairness-ids=16']],
    [['--grpc-max-recv-msg-size=1e6'], ['--max-message-bytes=1000000']],
    [['--grpc-max-send-msg-size=5.GiB'], ['--max-sent-message-bytes=5368709120']],
    [['--endpoint-target-ports=8000,8001'], []],
    [
      ['--metrics-cert-dir=certs', '--metrics-client-ca-file=ca'],
      ['--metrics-cert-dir=certs', '--metrics-client-ca-file=ca'],
    ],
    [['--metrics-staleness-threshold=3s'], ['--metrics-stale-ms=3000']],
    [['--model-server-metrics-scheme', 'https'], ['--scrape-scheme=https']],
    [['--model-server-metrics-https-insecure-skip-verify'], ['--scrape-skip-verify=true']],
    [['--feature-gates=flowControl=true'], ['--feature-gates=flowControl=true']],
    [['--disable-endpoint-subset-filter'], ['--disable-endpoint-subset-filter']],
    [['--emit-endpoint-scores'], ['--emit-endpoint-scores']],
    [['--plugin-state-staleness-threshold=1h'], ['--max-reservation-age-ms=3600000']],
  ])('[D423] has %j as %j', (theirs, wanted) => {
    expect(ours(...theirs)).toEqual(wanted);
  });

  test('[D90] without a pool follows the pods of its selector, and is named for its Deployment', () => {
    const theirs = ['--endpoint-selector', 'app=x', '--endpoint-target-ports', '8000,8001'];
    const environment = { NAMESPACE: 'ns', POD_NAME: 'router-epp-7d4b9c-x2x9z' };
    expect(fromReferenceArgs(theirs, environment)?.args).toEqual([
      'serve',
      '--endpoint-selector=app=x',
      '--endpoint-target-ports=8000,8001',
      '--as-reference',
      '--deprecated-metrics',
      '--health-port=9003',
      '--metrics-endpoint-auth',
      '--pprof',
      ...DRAIN,
      '--pool-namespace=ns',
      '--pool-name=router-epp',
    ]);
  });

  test.each([
    [['--drain-timeout=soon'], '--drain-timeout: is soon'],
    [['--secure-serving=maybe'], '--secure-serving: is maybe'],
    [['--grpc-max-recv-msg-size=lots'], '--grpc-max-recv-msg-size: is lots'],
    [['--grpc-max-recv-msg-size=-1'], '--grpc-max-recv-msg-size: is -1'],
    [['--metrics-staleness-threshold=0s'], '--metrics-staleness-threshold: is 0s'],
    [['--zap-log-level=loud'], '--zap-log-level: is loud'],
    [['--lora-info-metric=x'], '--lora-info-metric: is x: no known engine has it'],
    [['--destination-endpoint-hint-key=x'], '--destination-endpoint-hint-key: is x'],
    [['--config-file=a', '--config-text=b'], 'cannot be used with --config-file'],
    [['--endpoint-selector=a=b'], 'cannot be used with --pool-name'],
    [['--config-file'], '--config-file: needs a value'],
    [['--grpc-port', '99999'], '--grpc-port: is 99999'],
    [['--grpc-port=09002'], '--grpc-port: is 09002'],
    [['--metrics-port='], '--metrics-port: is empty'],
    [['--metrics-staleness-threshold=-1s'], '--metrics-staleness-threshold: is -1s'],
    [['--grpc-max-recv-msg-size=100m'], '--grpc-max-recv-msg-size: is 100m'],
    [['--fairness-id-metric-label-limit=-1'], '--fairness-id-metric-label-limit: is -1'],
    [['--refresh-prometheus-metrics-interval=0s'], '--refresh-prometheus-metrics-interval: is 0s'],
    [['--metrics-cert-dir=certs'], '--metrics-cert-dir: gives TLS to a page that anyone may read'],
    [['--model-server-metrics-path=metrics'], '--model-server-metrics-path: is metrics'],
    [['--model-server-metrics-scheme=ftp'], '--model-server-metrics-scheme: is ftp'],
    [['--model-server-metrics-port=x'], '--model-server-metrics-port: is x'],
    [['--endpoint-target-ports=8000,x'], '--endpoint-target-ports: has x'],
    [['--zap-encoder=xml'], '--zap-encoder: is xml'],
    [['--zap-stacktrace-level=loud'], '--zap-stacktrace-level: is loud'],
    [['--zap-time-encoding=clock'], '--zap-time-encoding: is clock'],
    [['--zap-devel=maybe'], '--zap-devel: is maybe'],
    [['--enable-cert-reload=maybe'], '--enable-cert-reload: is maybe'],
    [['---grpc-port=9002'], '---grpc-port=9002: is not a flag'],
    [['--=x'], '--=x: is not a flag'],
  ])('[D91] refuses %j, which the reference refuses, and says why', (theirs, sentence) => {
    expect(() => ours(...theirs)).toThrow(ConfigError);
    expect(() => ours(...theirs)).toThrow(sentence);
  });

  it('[O558] says of -v alone how the version is printed', () => {
    expect(() => ours('-v')).toThrow('`pointsman --version` prints the version');
  });

  it('[D494] accepts requests for the time of a drain, by default 30 s, and lets those in flight end', () => {
    const drainsOf = (...theirs: readonly string[]): readonly string[] =>
      (fromReferenceArgs([...pool, ...theirs], {})?.args ?? []).filter((arg) =>
        arg.startsWith('--drain-'),
      );
    expect(drainsOf()).toEqual(DRAIN);
    expect(drainsOf('--drain-timeout=1m')).toEqual([
      '--drain-notice-ms=60000',
      '--drain-timeout-ms=600000',
    ]);
    const own = ['--drain-notice-ms=5000', '--drain-timeout-ms=20000'];
    expect(drainsOf(...own)).toEqual(own);
  });

  it('[D91] passes flags of ours to serve, which may stand beside the reference’s', () => {
    expect(ours('--json', '--capture=day/')).toEqual(
      expect.arrayContaining(['--json', '--capture=day/']),
    );
  });

  it('[D311] passes each of them with its value, however that is written', () => {
    const theirs = ['--observe', '--shadow', 'default', '-v', '4', '--shadow=mine.yaml', '--json'];
    const passed = ours(...theirs).filter((arg) => !arg.startsWith('--log-level'));
    expect(passed).toEqual(['--observe', '--shadow=default', '--shadow=mine.yaml', '--json']);
  });

  it('[D633] leaves an empty word behind one of them to serve, which knows its switches', () => {
    expect(ours('--observe', '')).toEqual(expect.arrayContaining(['--observe', '']));
    expect(ours('--observe=')).toContain('--observe=');
  });

  it('[D410] says which words belong to no flag, as the value of a switch that stands apart', () => {
    const theirs = [...pool, '--secure-serving', 'false', '--grpc-port=9002', '--', '--tracing'];
    const translated = fromReferenceArgs(theirs, {});
    expect(translated?.args).not.toContain('--insecure');
    expect(Object.keys(translated?.fixed ?? {})).toEqual(['false', '--tracing']);
  });

  it.each([
    ['--zap-time-encoding=RFC3339Nano'],
    ['--zap-encoder=CONSOLE'],
    ['--zap-stacktrace-level=error'],
  ])('accepts %s, as there', (flag) => {
    expect(Object.keys(fromReferenceArgs([...pool, flag], {})?.fixed ?? {})).toEqual([flag]);
  });

  it('refuses a command line that names no pods', () => {
    expect(() => fromReferenceArgs(['--grpc-port=9002'], {})).toThrow('--endpoint-selector');
    expect(() => fromReferenceArgs(['--endpoint-selector='], {})).toThrow('--endpoint-selector');
  });

  test('[D91] says what holds instead of each flag and variable without an effect', () => {
    const flags = ['--tracing=false', '--enable-cert-reload', '--zap-encoder', 'console'];
    const environment = { OTEL_SERVICE_NAME: 'x', LATENCY_MAX_SAMPLE_SIZE: '1', PATH: '/bin' };
    const fixed = fromReferenceArgs([...pool, ...flags], environment)?.fixed;
    expect(fixed).toEqual({
      '--enable-cert-reload=true': 'certificates are read again whenever they change',
      '--zap-encoder=console': expect.stringMatching(/JSON/),
      $OTEL_SERVICE_NAME: expect.stringMatching(/no traces are sent/),
      $LATENCY_MAX_SAMPLE_SIZE: expect.stringMatching(/learned in the picker/),
    });
  });

  test.each([
    ['SD_QUEUE_DEPTH_THRESHOLD', 'utilization-detector'],
    ['PREFIX_CACHE_LRU_CAPACITY_PER_SERVER', 'approx-prefix-cache-producer'],
    ['ENABLE_KVCACHE_AWARE_SCORER', 'list the scorer'],
    ['PREFIX_AWARE_SCORER_WEIGHT', 'list the scorer'],
    ['PD_PROMPT_LEN_THRESHOLD', 'prefix-based-pd-decider'],
    ['KVCACHE_INDEXER_REDIS_ADDR', 'built in'],
    ['LLMD_PAYLOAD_CAPTURE_ENABLED', 'prompts are never written into traces'],
    ['EXPERIMENTAL_USE_SCHEDULER_V2', 'always is'],
    ['NEG_HEADROOM_TPOT_WEIGHT', 'latency-scorer'],
    ['HEADROOM_SELECTION_STRATEGY', 'latency-scorer'],
    ['SLO_BUFFER_FACTOR', 'latencies are learned'],
    ['PREFILL_TRAINING_URL', 'no prediction or training server'],
  ])('[D424] says what to write for $%s of other releases', (name, instead) => {
    const fixed = fromReferenceArgs(pool, { [name]: 'true' })?.fixed;
    expect(fixed?.[`$${name}`]).toContain(instead);
  });

  test.each([
    ['true', [], 'flowControl'],
    ['1', ['--feature-gates=flowControl=false'], 'flowControl=false,flowControl'],
    ['TRUE', ['--feature-gates='], 'flowControl'],
    ['false', [], undefined],
    ['yes', ['--feature-gates=flowControl'], 'flowControl'],
    ['', [], undefined],
  ])(
    '[D614] with $ENABLE_EXPERIMENTAL_FLOW_CONTROL_LAYER %j and %j, gates are "%s"',
    (...given) => {
      const [value, flags, gates] = given;
      const name = 'ENABLE_EXPERIMENTAL_FLOW_CONTROL_LAYER';
      const { args = [], fixed = {} } =
        fromReferenceArgs([...pool, ...flags], { [name]: value }) ?? {};
      const switched = args.filter((arg) => arg.startsWith('--feature-gates'));
      expect(switched).toEqual(gates === undefined ? [] : [`--feature-gates=${gates}`]);
      expect(Object.keys(fixed)).toEqual(/^(?:1|true)$/i.test(value) ? [] : [`$${name}`]);
    },
  );

  test.each([
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, [], true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4317' }, ['--tracing'], true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4317' }, ['--tracing=false'], false],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4317', OTEL_TRACES_EXPORTER: 'console' },
      [],
      false,
    ],
    [{}, ['--tracing=true'], false],
  ])('[O80] with %j and %j sends traces: %s', (environment, flags, sends) => {
    const translated = fromReferenceArgs([...pool, ...flags], environment);
    expect(translated?.args.includes('--tracing')).toBe(sends);
    expect(Object.keys(translated?.fixed ?? {}).length > 0).toBe(
      !sends && Object.keys(environment).length > 0,
    );
  });

  it.each([[['serve', ...pool]], [['--help']], [[]], [['stub', '--pool-name', 'x']]])(
    'is not %j, which is ours',
    (args) => {
      expect(fromReferenceArgs(args, {})).toBeUndefined();
    },
  );
});
