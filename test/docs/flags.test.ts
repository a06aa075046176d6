import { describe, expect, it, test } from 'vitest';
import { REFERENCE_FLAGS } from '../../src/commands/go-flags/reference-flags.ts';
import { allFiles, readText } from '../house/source-tree.ts';
import { GUIDES } from './doc-code.ts';
import { allCommands } from './reference-page.ts';

/** Flags of other programs and of our scripts that guides name: each is looked up there. */
const OF_OTHERS = new Set([
  // SGLang's bench_serving
  '--output-details',
  '--max-concurrency',
  // curl, docker, helm, kubectl, npm, systemctl and Envoy
  '--retry',
  '--retry-all-errors',
  '--retry-delay',
  '--build-arg',
  '--read-only',
  '--network',
  '--rm',
  '--set',
  '--set-file',
  '--reuse-values',
  '--from-literal',
  '--previous',
  '--now',
  '--dry-run',
  '--no-audit',
  '--no-fund',
  '--omit',
  '--sbom-format',
  '--ignore-scripts',
  '--use-dynamic-base-id',
  '--config-path',
  '--disable-hot-restart',
  // Kubernetes, Prometheus and Ray
  '--horizontal-pod-autoscaler-tolerance',
  '--enable-feature',
  '--head',
  '--address',
  '--block',
  // vLLM and SGLang
  '--scheduling-policy',
  '--enable-priority-scheduling',
  '--kv-events-config',
  '--save-result',
  '--save-detailed',
  '--page-size',
  '--enable-prefix-caching',
  '--kv-transfer-config',
  '--tensor-parallel-size',
  '--pipeline-parallel-size',
  // llm-d-inference-sim, which `stub --as-simulator` takes in a way of its own
  '--enable-kvcache',
  '--zmq-endpoint',
  '--block-size',
  '--time-to-first-token',
  '--mode',
  '--inter-token-latency',
  '--strict',
  '--max',
  '--switch',
  '--no-switch',
  // the sidecar of llm-d, in the table of what stands for each of its flags
  '--model-server-port',
  '--vllm-port',
  '--inference-pool-name',
  '--inference-pool-namespace',
  '--connector',
  '--secure-proxy',
  '--prefiller-use-tls',
  '--decoder-use-tls',
  '--prefiller-tls-insecure-skip-verify',
  '--enable-ssrf-protection',
  '--prefill-retry-backoff',
  '--bidirectional-cache-ttl',
  '--configuration',
  '--decoder-',
  '--configuration-file',
  '--max-idle-conns-per-host',
  '--moriio-parallel-decode-wait-timeout',
  '--moriio-',
  '--zap-',
  '--model-server-metrics-',
  // bench
  '--features',
  '--go',
  '--others',
  '--help',
]);

/** What was measured, and how, is not read to be typed; rules and scripts have their own checks. */
const files = [
  ...GUIDES.filter(
    (path) => !/^docs\/(measurements|performance|policies)|^CONTRI|^SPEC/.test(path),
  ),
  ...allFiles().filter((path) => path.startsWith('deploy/') && !/\.(?:json|md)$/.test(path)),
];
const commands = allCommands().toSorted((one, other) => other.name.length - one.name.length);
const ours = new Set(commands.flatMap(({ command }) => command.options.map(({ long }) => long)));
const isTheirs = (flag: string): boolean => REFERENCE_FLAGS.has(flag.slice(2));

/** What stands behind `pointsman` in a document, a command a string; lines that go on are joined. */
function typedCommands(text: string): readonly string[] {
  const joined = text.replaceAll(/\\\n\s*(?:#\s*)?/g, ' ');
  const typed = /(?<![\w/.-])pointsman ((?!demo-)[a-z]+(?: [a-z]+)?[^`\n|]*)/g;
  return [...joined.matchAll(typed)].map(([, command = '']) => command.replace(/\s#\s.*$/, ''));
}

function faultsOf(typed: string): readonly string[] {
  const found = commands.find(({ name }) => `${typed} `.startsWith(`${name} `));
  if (found === undefined) return [`no command: ${typed}`];
  const known = new Set(found.command.options.map(({ long }) => long));
  const flags = typed.match(/(?<=\s)--[a-z][a-z0-9-]*/g) ?? [];
  const takesTheirs = found.name === 'serve';
  return flags.filter((flag) => !known.has(flag) && !(takesTheirs && isTheirs(flag)));
}

describe('[O357] what guides and the files of deploy name', () => {
  it('is looked for', () => {
    expect(files.flatMap((path) => typedCommands(readText(path))).length).toBeGreaterThan(150);
    expect(faultsOf('serve --insecure --endpoint a:1')).toEqual(['--endpoint']);
    expect(faultsOf('serves --insecure')).toHaveLength(1);
  });

  test.each(files)('%s: every command has its flags', (path) => {
    expect(typedCommands(readText(path)).flatMap(faultsOf)).toEqual([]);
  });

  test.each(files)('%s: every flag is one of a command, or of another program', (path) => {
    const flags = readText(path).match(/(?<![\w-])--[a-z][a-z0-9-]*/g) ?? [];
    const unknown = flags.filter((flag) => !ours.has(flag) && !isTheirs(flag));
    expect(unknown.filter((flag) => !OF_OTHERS.has(flag))).toEqual([]);
  });
});
