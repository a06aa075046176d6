import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fromSidecarArgs } from './sidecar-args.ts';

const OWN_HEALTH = '--health=sidecar';

/** The arguments of `sidecar` that a line gives, sorted, without the one of each reference's line. */
function ours(line: string, environment: Record<string, string> = {}): readonly string[] {
  const translated = fromSidecarArgs(line.split(' ').filter(Boolean), environment);
  expect(translated?.args[0]).toBe('sidecar');
  const args = (translated?.args ?? []).slice(1);
  expect(args.includes(OWN_HEALTH)).toBe(!line.startsWith('sidecar'));
  return args.filter((each) => each !== OWN_HEALTH).toSorted();
}

/** What the reference holds where nothing is said. */
const DEFAULTS = ['--ec-connector=none', '--secure-serving'];

describe('a command line of the reference’s sidecar', () => {
  it.each([
    [
      '--port=8000 --vllm-port=8200 --connector=nixlv2 -v=5 --secure-proxy=false',
      ['--ec-connector=none', '--engine=127.0.0.1:8200', '--kv-connector=nixlv2', '--port=8000'],
    ],
    [
      '--model-server-port 8203 --enable-tls=prefiller,decoder --enable-tls encoder',
      [
        ...DEFAULTS,
        '--enable-tls=encoder',
        '--enable-tls=prefiller,decoder',
        '--engine=127.0.0.1:8203',
      ],
    ],
    [
      '--prefiller-use-tls=true --decoder-use-tls=0 --prefiller-tls-insecure-skip-verify',
      [...DEFAULTS, '--enable-tls=prefiller', '--tls-insecure-skip-verify=prefiller'],
    ],
    [
      '--prefill-max-retries=2 --prefill-retry-backoff=1.5s --metrics-port=0 --ec-connector=ec-nixl',
      [
        '--ec-connector=ec-nixl',
        '--prefill-max-retries=2',
        '--prefill-retry-backoff-ms=1500',
        '--secure-serving',
      ],
    ],
    [
      '--enable-ssrf-protection --inference-pool=ns/pool --pool-group=inference.networking.k8s.io',
      [...DEFAULTS, '--inference-pool=ns/pool', '--pool-group=inference.networking.k8s.io'],
    ],
    ['--inference-pool=ns/pool --secure-serving=false', ['--ec-connector=none']],
    ['--kv-connector=sglang --kv-connector=mooncake', [...DEFAULTS, '--kv-connector=mooncake']],
    [
      '--kv-connector=atom --atom-dp-size=8',
      [...DEFAULTS, '--atom-dp-size=8', '--kv-connector=atom'],
    ],
    [
      '--bidirectional-kv-xfer --bidirectional-cache-size=9 --bidirectional-cache-ttl=8m',
      [
        ...DEFAULTS,
        '--bidirectional-cache-size=9',
        '--bidirectional-cache-ttl-ms=480000',
        '--bidirectional-kv-xfer',
      ],
    ],
    ['--kv-connector=nixlv2 --tracing', [...DEFAULTS, '--kv-connector=nixlv2', '--tracing']],
    [
      '--moriio-write-mode --moriio-dp-size=8 --moriio-parallel-decode-wait-timeout=5s',
      [...DEFAULTS, '--moriio-dp-size=8', '--moriio-write-mode', '--prefill-timeout-ms=5000'],
    ],
  ])('[B80] %s has the same effect here', (line, expected) => {
    expect(ours(line)).toEqual([...expected].toSorted());
  });

  it('[D495] takes the pool from the flags and variables of older releases, and its group', () => {
    const kserve = { INFERENCE_POOL_NAMESPACE: 'models', INFERENCE_POOL_NAME: 'llama-pool' };
    const preset =
      '--port=8000 --vllm-port=8001 --kv-connector=nixlv2 --enable-ssrf-protection=true --pool-group=inference.networking.x-k8s.io --secure-proxy=false';
    expect(ours(preset, kserve)).toEqual([
      '--ec-connector=none',
      '--engine=127.0.0.1:8001',
      '--inference-pool=models/llama-pool',
      '--kv-connector=nixlv2',
      '--pool-group=inference.networking.x-k8s.io',
      '--port=8000',
    ]);
    const older = '-enable-ssrf-protection -inference-pool-name=b -inference-pool-namespace=a';
    expect(ours(older, kserve)).toContain('--inference-pool=a/b');
    expect(ours('--enable-ssrf-protection --inference-pool-name=b')).toContain(
      '--inference-pool=default/b',
    );
    const newest = { ...kserve, INFERENCE_POOL: 'ns/pool' };
    expect(ours(older, newest)).toContain('--inference-pool=ns/pool');
    expect(() =>
      fromSidecarArgs(['--enable-ssrf-protection'], { INFERENCE_POOL_NAMESPACE: 'a' }),
    ).toThrow('needs --inference-pool');
  });

  it('[D500] answers health checks itself, unless our flag says otherwise', () => {
    const args = fromSidecarArgs(['--vllm-port=1', '--health', 'engine'], {})?.args ?? [];
    expect(args.slice(1, 2)).toEqual([OWN_HEALTH]);
    expect(args.slice(args.indexOf('--health'))).toContain('engine');
  });

  it('[D496] passes over words that belong to no flag: empty ones silently', () => {
    const args = ['--port=8000', '--secure-proxy', 'false', '--vllm-port', '8001', '', ''];
    const translated = fromSidecarArgs(args, {});
    expect(translated?.args).toContain('--secure-serving');
    expect(translated?.args).not.toContain('');
    expect(translated?.args).not.toContain('false');
    expect(Object.keys(translated?.fixed ?? {})).toEqual(['false']);
    const own = ['--vllm-port=8001', '--prefillers', '10.0.0.0/16', '--json'];
    expect(fromSidecarArgs(own, {})?.args).toContain('10.0.0.0/16');
  });

  it('[B80] names what changes nothing, and what holds instead', () => {
    const line = ['--kv-connector=nixlv2', '--max-idle-conns-per-host=9', '-v4'];
    expect(Object.keys(fromSidecarArgs(line, {})?.fixed ?? {})).toEqual([
      '--max-idle-conns-per-host=9',
      '--v=4',
    ]);
  });

  it('[B81] reads its variables, which flags replace', () => {
    const environment = {
      INFERENCE_POOL: 'ns/pool',
      ENABLE_PREFILLER_SAMPLING: 'true',
      MOONCAKE_BOOTSTRAP_PORT: '9001',
      P2P_CONNECTOR_PORT: 'x',
      SGLANG_BOOTSTRAP_PORT: '9003',
      POD_IP: '10.0.0.1',
    };
    expect(ours('--enable-ssrf-protection --mooncake-bootstrap-port=7', environment)).toEqual([
      '--ec-connector=none',
      '--enable-prefiller-sampling',
      '--inference-pool=ns/pool',
      '--mooncake-bootstrap-port=7',
      '--pod-ip=10.0.0.1',
      '--secure-serving',
      '--sglang-bootstrap-port=9003',
    ]);
  });

  it('[B82] reads flags from YAML, inline or in a file, which flags replace', () => {
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-sidecar-args-'));
    const file = join(folder, 'sidecar.yaml');
    writeFileSync(
      file,
      'port: 8100\nkv-connector: sglang\nenable-tls: [prefiller, decoder]\nsecure-proxy: false\nvllm-port: 1\nmodel-server-port: 2\n',
    );
    expect(ours(`--configuration-file=${file} --port=9000 --connector=mooncake`)).toEqual([
      '--ec-connector=none',
      '--enable-tls=prefiller,decoder',
      '--engine=127.0.0.1:1',
      '--engine=127.0.0.1:2',
      '--kv-connector=mooncake',
      '--port=9000',
    ]);
    rmSync(folder, { recursive: true });
    const inline = fromSidecarArgs(['--configuration={port: 8085, decode-chunk-size: 64}'], {});
    expect(inline?.args).toContain('--decode-chunk-size=64');
  });

  it.each([
    ['--configuration={a:\u00a01}', 'a: is no flag of the sidecar'],
    [
      '--configuration={port: 1} --configuration-file=x',
      'cannot be used with --configuration-file',
    ],
    ['--enable-ssrf-protection', 'needs --inference-pool'],
    ['--secure-proxy=maybe', 'must be true or false'],
    ['--kv-connector', 'needs a value'],
    ['--prefill-retry-backoff=soon', 'must be a time'],
    ['--vllm-port=http', 'must be a port'],
  ])('[B80] %s is refused', (line, message) => {
    const args = line.split(' ').map((each) => each.replaceAll('\u00a0', ' '));
    expect(() => fromSidecarArgs(args, {})).toThrow(message);
  });

  it('[B80] is not taken for one where it is meant for the picker or is ours', () => {
    for (const line of ['--pool-name=p --metrics-port=1', '--port=1 --model=m', 'serve --port=1']) {
      expect(fromSidecarArgs(line.split(' '), {})).toBeUndefined();
    }
  });
});

describe('a command line of `sidecar`', () => {
  it('[B80] may mix flags of both, and has our defaults', () => {
    expect(
      ours('sidecar --host 127.0.0.1 --engine a:1 --secure-proxy=false --metrics-port 0 --json'),
    ).toEqual(['--engine', '--host', '--json', '--metrics-port=0', '127.0.0.1', 'a:1']);
    expect(ours('sidecar', { INFERENCE_POOL: 'ns/pool' })).toEqual([]);
    expect(ours('sidecar --inference-pool ns/pool')).toEqual(['--inference-pool=ns/pool']);
  });
});
