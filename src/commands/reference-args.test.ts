import { describe, expect, it } from 'vitest';
import { ConfigError } from '../framework/error.ts';
import { fromReferenceArgs } from './reference-args.ts';

const pool = ['--pool-name', 'p', '--pool-namespace=ns'];
const ours = (...args: readonly string[]): readonly string[] =>
  fromReferenceArgs(
    [...pool, '--grpc-health-port=1', '--metrics-endpoint-auth=false', ...args],
    undefined,
  )?.args.slice(4) ?? [];

describe('the reference picker’s command line', () => {
  it('is one of serve, as the conformance suite has it', () => {
    const suite = ['--zap-encoder', 'json', '--grpc-port', '9002', '--grpc-health-port', '9003'];
    expect(fromReferenceArgs([...pool, ...suite], undefined)).toEqual({
      args: [
        'serve',
        '--pool-name=p',
        '--pool-namespace=ns',
        '--extproc-port=9002',
        '--health-port=9003',
        '--metrics-endpoint-auth',
      ],
      ignored: ['--zap-encoder=json'],
    });
  });

  it('has the reference’s defaults', () => {
    const args = ['serve', '--pool-name=p', '--health-port=9003', '--metrics-endpoint-auth'];
    expect(fromReferenceArgs(['--pool-name=p'], 'mine')?.args).toEqual([
      ...args,
      '--pool-namespace=mine',
    ]);
    for (const unknown of [undefined, '']) {
      expect(fromReferenceArgs(['--pool-name=p'], unknown)?.args).toEqual([
        ...args,
        '--pool-namespace=default',
      ]);
    }
  });

  it.each([
    [['--config-file=/config/a.yaml'], ['--config=/config/a.yaml']],
    [['--secure-serving=false'], ['--insecure']],
    [['--secure-serving'], []],
    [['--secure-serving', '--v=5'], ['--log-level=debug']],
    [['-v', '2'], ['--log-level=info']],
    [['--zap-log-level=debug'], ['--log-level=debug']],
    [['--zap-log-level', '5'], ['--log-level=debug']],
    [['--zap-log-level', '1'], ['--log-level=info']],
    [['--drain-timeout', '1m30s'], ['--drain-timeout-ms=90000']],
    [['--ha-enable-leader-election'], ['--ha-enable-leader-election']],
    [['--ha-enable-leader-election=false'], []],
    [['--metrics-endpoint-auth'], ['--metrics-endpoint-auth']],
    [['--tls-min-version=VersionTLS13'], ['--tls-min-version=VersionTLS13']],
    [
      ['--tls-cipher-suites', 'TLS_AES_128_GCM_SHA256'],
      ['--tls-cipher-suites=TLS_AES_128_GCM_SHA256'],
    ],
    [
      ['--cert-path=/certs', '--metrics-port', '9090'],
      ['--cert-path=/certs', '--metrics-port=9090'],
    ],
    [['--endpoint-selector=app=x'], ['--endpoint-selector=app=x']],
  ])('has %j as %j', (theirs, wanted) => {
    expect(ours(...theirs)).toEqual(wanted);
  });

  it.each([
    [['--drain-timeout=soon'], '--drain-timeout'],
    [['--secure-serving=maybe'], '--secure-serving'],
  ])('refuses %j by its name', (theirs, name) => {
    expect(() => ours(...theirs)).toThrow(ConfigError);
    expect(() => ours(...theirs)).toThrow(name);
  });

  it('names the flags that it ignores', () => {
    const flags = ['--tracing=false', '--enable-pprof', '--refresh-metrics-interval', '50ms'];
    const wanted = ['--tracing=false', '--enable-pprof', '--refresh-metrics-interval=50ms'];
    expect(fromReferenceArgs([...pool, ...flags], undefined)?.ignored).toEqual(wanted);
  });

  it.each([[['serve', ...pool]], [['--help']], [[]], [['stub', '--pool-name', 'x']]])(
    'is not %j, which is ours',
    (args) => {
      expect(fromReferenceArgs(args, undefined)).toBeUndefined();
    },
  );
});
