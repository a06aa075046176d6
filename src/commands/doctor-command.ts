import { Command } from 'commander';
import { planFromPlugins } from '../catalogue/plan.ts';
import type { Validity } from '../doctor/check-certificates.ts';
import { aheadBy, type ClockAhead } from '../doctor/check-clocks.ts';
import type { DescribedEndpoint } from '../doctor/check-picker.ts';
import type { DecidedRequests } from '../doctor/check-refused.ts';
import { diagnose, type EnvoySeen, type PickerSeen } from '../doctor/diagnose.ts';
import { readSetup } from '../doctor/envoy-setup.ts';
import { type Finding, findingsText } from '../doctor/finding.ts';
import { EARLY_PICK_BYTES } from '../extproc/session/session-rules.ts';
import { ConfigError, messageOf } from '../framework/error.ts';
import { countOf } from '../framework/values/grouped.ts';
import { adminTokenIn, adminTokenOption, PICKER_HERE } from './admin-client/ask-picker.ts';
import { CommandFailure } from './admin-client/command-errors.ts';
import { accessFindings } from './doctor/doctor-access.ts';
import { certificatesIn } from './doctor/doctor-certificates.ts';
import { type Page, pageAt } from './doctor/doctor-pages.ts';
import { longestWaitOfPlanMs } from './doctor/longest-wait-of-plan.ts';
import { collect, pluginOption } from './options/option-values.ts';
import { printable } from './output/printable.ts';

interface DoctorFlags {
  readonly envoy: readonly string[];
  readonly admin: readonly string[];
  readonly adminTokenFile?: string;
  readonly config?: string;
  readonly plugin: readonly string[];
  readonly certificate: readonly string[];
  readonly kubeconfig?: string;
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly json: boolean;
}

const ENVOY_PORT = 'Envoy’s admin port';
const PICKER_PORT = 'the picker’s --metrics-port';

/** `pointsman doctor`: reads what Envoy, picker and Kubernetes say, and changes nothing. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'say what is wrong with the set-up of Envoy, picker and cluster, with lines to paste; exit code 1 where something breaks',
    )
    .option(
      '--envoy <address>',
      'Envoy’s admin port: host:port, or a URL; may be repeated',
      collect,
      [],
    )
    .option(
      '--admin <address>',
      `the picker’s --metrics-port: host:port, or a URL; may be repeated; ${PICKER_HERE} where nothing else is asked for`,
      collect,
      [],
    )
    .addOption(adminTokenOption('the picker’s token, for pickers elsewhere'))
    .option('--config <name|file>', 'a configuration of the picker')
    .addOption(pluginOption())
    .option('--certificate <file>', 'a certificate in PEM; may be repeated', collect, [])
    .option('--kubeconfig <file>', 'ask this cluster what the picker may do')
    .option('--namespace <name>', 'with --kubeconfig: where the picker runs', 'default')
    .option(
      '--service-account <name>',
      'with --kubeconfig: as whom; the account of the chart is <release>-pointsman',
      'pointsman',
    )
    .option('--json', 'print one JSON document', false)
    .action(run);
}

async function run(flags: DoctorFlags): Promise<void> {
  const { envoy, config, certificate, kubeconfig } = flags;
  const others = [...envoy, config, kubeconfig, ...certificate].filter(
    (each) => each !== undefined,
  );
  // Without arguments the command looks at the picker of this machine, as `top` and `explain` do.
  const isAlone = others.length === 0 && flags.admin.length === 0;
  const admin = isAlone ? [PICKER_HERE] : flags.admin;
  const silent: Finding[] = [];
  // Where only one thing is looked at, a port that does not answer ends the command.
  const found = admin.length + others.length === 1 ? undefined : silent;
  const envoys = await seen(envoy, askEnvoy, found);
  const pickers = await seen(admin, (each) => askPickerState(each, flags), found);
  const read = config === undefined ? undefined : await readConfig(config, flags.plugin);
  const files = certificate.map((file) => certificatesIn(file));
  const findings: readonly Finding[] = [
    silent,
    diagnose({
      envoys: envoys.map((each) => each.envoy),
      pickers: pickers.map(({ picker }) => picker),
      clocks: [...envoys, ...pickers].flatMap(({ clocks }) => clocks),
      certificates: [...files, ...pickers].flatMap(({ certificates }) => certificates),
      earlyPickBytes: EARLY_PICK_BYTES,
      longestWaitMs: read?.longestWaitMs,
      nowMs: Date.now(),
    }),
    read?.findings ?? [],
    files.flatMap(({ findings: each }) => each),
    kubeconfig === undefined ? [] : await accessFindings(kubeconfig, flags),
  ].flat();
  const lookedAt = [...envoys, ...pickers].map(({ about }) => about);
  const all = [...lookedAt, ...filesOf(flags)];
  const text = flags.json ? documentText(findings, all) : findingsText(findings, all);
  process.stdout.write(printable(text));
  if (findings.some(({ severity }) => severity === 'error')) process.exitCode = 1;
}

function documentText(findings: readonly Finding[], lookedAt: readonly string[]): string {
  return `${JSON.stringify({ lookedAt, findings }, undefined, 2)}\n`;
}

/** What was looked at besides ports, in words. */
function filesOf({ config, certificate, kubeconfig, namespace }: DoctorFlags): readonly string[] {
  return [
    ...(config === undefined ? [] : [`configuration ${config}`]),
    ...certificate.map((file) => `certificate ${file}`),
    ...(kubeconfig === undefined ? [] : [`rights in namespace ${namespace}`]),
  ];
}

/** What ports say. One that does not answer is a finding where there is a list of them. */
async function seen<T>(
  places: readonly string[],
  ask: (where: string) => Promise<T>,
  findings: Finding[] | undefined,
): Promise<readonly T[]> {
  const answers = places.map(async (where): Promise<readonly T[]> => {
    try {
      return [await ask(where)];
    } catch (error) {
      if (findings === undefined || !(error instanceof CommandFailure)) throw error;
      findings.push({ severity: 'error', id: 'no-answer', where, what: error.message });
      return [];
    }
  });
  return (await Promise.all(answers)).flat();
}

interface Asked {
  /** What was looked at, in words. */
  readonly about: string;
  readonly clocks: readonly ClockAhead[];
}

interface SeenEnvoy extends Asked {
  readonly envoy: EnvoySeen;
}

interface SeenPicker extends Asked {
  readonly picker: PickerSeen;
  readonly certificates: readonly Validity[];
}

/** The beginning of a page, which may be a document of many lines. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 100);
}

async function askEnvoy(address: string): Promise<SeenEnvoy> {
  const of = (path: string): Promise<Page> => pageAt(address, path, { hint: ENVOY_PORT });
  const info = await of('/server_info');
  const [dump, stats, certs] = await Promise.all([
    of('/config_dump'),
    of('/stats?format=json&filter=overflow|ext_proc|membership|too_large|timeout|update_rejected'),
    of('/certs'),
  ]);
  const server = jsonOf<EnvoySeen['info']>(info, address, ENVOY_PORT);
  if ('paths' in server) {
    throw new CommandFailure(
      `${address} is the metrics port of a picker: give it with --admin, and ${ENVOY_PORT} with --envoy`,
    );
  }
  // Another server may answer JSON to anything.
  if (info.status !== 200 || server.version === undefined) {
    throw new CommandFailure(
      `${address} is no Envoy: it answered ${info.status} ${oneLine(info.text)}; give ${ENVOY_PORT}`,
    );
  }
  const setup = readSetup(jsonOf(dump, address, ENVOY_PORT));
  const others = setup.otherFilters.join(' and ');
  const without = others === '' ? '' : ` without ${others}, which comes before the picker’s filter`;
  return {
    about: `Envoy ${server.version.split('/')[1] ?? ''} at ${address}${without}`,
    envoy: {
      at: address,
      info: server,
      setup,
      stats: jsonOf(stats, address, ENVOY_PORT),
      certs: jsonOf(certs, address, ENVOY_PORT),
    },
    clocks: clockOf(`Envoy at ${address}`, info),
  };
}

async function askPickerState(
  address: string,
  { adminTokenFile }: DoctorFlags,
): Promise<SeenPicker> {
  const token = adminTokenFile && adminTokenIn(adminTokenFile);
  const of = (path: string): Promise<Page> => pageAt(address, path, { hint: PICKER_PORT, token });
  const endpoints = await of('/debug/endpoints');
  const { status, text } = await of('/readyz');
  const metrics = await of('/metrics');
  const { endpoints: described, latest } = jsonOf<{
    readonly endpoints?: readonly DescribedEndpoint[];
    readonly latest?: DecidedRequests;
  }>(endpoints, address, PICKER_PORT);
  if (described === undefined) {
    throw new CommandFailure(`${address} is no picker: ${endpoints.text.slice(0, 200)}`);
  }
  return {
    about: `picker at ${address} with ${countOf(described.length, 'endpoint')}`,
    picker: {
      at: address,
      ready: { status, text },
      endpoints: described,
      metrics: metrics.text,
      latest,
    },
    certificates: pickerCertificates(address, metrics.text),
    clocks: clockOf(`picker at ${address}`, endpoints),
  };
}

/**
 * The certificate of the ext_proc port, unless the page of metrics is closed, or the port has no
 * TLS.
 */
function pickerCertificates(address: string, metrics: string): readonly Validity[] {
  const at = (end: 'begin' | 'expiry'): string | undefined => {
    const line = new RegExp(`^pointsman_certificate_${end}_timestamp_seconds (\\S+)`, 'm');
    const [, seconds] = line.exec(metrics) ?? [];
    return seconds === undefined ? undefined : new Date(Number(seconds) * 1000).toISOString();
  };
  const until = at('expiry');
  if (until === undefined) return [];
  return [{ where: `certificate of the picker at ${address}`, from: at('begin'), until }];
}

function clockOf(where: string, { date, fromMs, untilMs }: Page): readonly ClockAhead[] {
  const there = Date.parse(date ?? '');
  return Number.isNaN(there) ? [] : [{ where, aheadMs: aheadBy(there, fromMs, untilMs) }];
}

function jsonOf<T>({ text, status }: Page, address: string, what: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new CommandFailure(`${address} answered ${status} without JSON: is it ${what}?`);
  }
}

/** What is wrong with a configuration, and how long a request may wait with it. */
async function readConfig(
  config: string,
  plugins: readonly string[],
): Promise<{ readonly findings: readonly Finding[]; readonly longestWaitMs?: number }> {
  const where = `configuration ${config}`;
  try {
    const plan = await planFromPlugins(config, plugins);
    const id = 'configuration-note';
    return {
      findings: plan.warnings.map((what) => ({ severity: 'warning', id, where, what })),
      longestWaitMs: longestWaitOfPlanMs(plan),
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const finding = { severity: 'error', id: 'configuration', where } as const;
    return { findings: [{ ...finding, what: messageOf(error) }] };
  }
}
