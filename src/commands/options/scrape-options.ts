import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ConfigFile } from '../../catalogue/plan.ts';
import { metricsSource } from '../../endpoints/scraping/metrics-source.ts';
import type { PickerPlan, PlannedPlugin } from '../../picker/plan/picker-plan.ts';
import type { HttpTlsParameters } from '../../plugins/parameters/http-tls.ts';
import { atLeastOne, port } from './option-values.ts';

/** Flags of `serve` about metrics pages of model servers. */
export interface ScrapeFlags {
  readonly scrapeIntervalMs?: number;
  readonly scrapeScheme?: 'http' | 'https';
  readonly scrapePath?: string;
  readonly scrapePort?: number;
  readonly scrapeSkipVerify?: 'true' | 'false';
  /** The command line was one of the reference picker, which verifies only where it has to. */
  readonly asReference?: boolean;
}

/** As the reference and the parameter: engines update their gauges once in a step. */
const INTERVAL_MS_MIN = 10;

export function addScrapeOptions(command: Command): Command {
  return command
    .option(
      '--scrape-interval-ms <ms>',
      'read the metrics page of each model server this often, unless the configuration says how often',
      atLeastOne,
    )
    .addOption(
      new Option(
        '--scrape-scheme <scheme>',
        'how metrics pages are read, unless the configuration says so; this and the next three are ' +
          'for the reference’s former flags --model-server-metrics-*',
      ).choices(['http', 'https']),
    )
    .option('--scrape-path <path>', 'path of metrics pages, likewise', pagePath)
    .option('--scrape-port <port>', 'port of metrics pages, likewise', port)
    .addOption(
      new Option(
        '--scrape-skip-verify <bool>',
        'read metrics pages by https without verifying certificates, likewise',
      ).choices(['true', 'false']),
    );
}

function pagePath(text: string): string {
  if (text.startsWith('/')) return text;
  throw new InvalidArgumentError(`${text} does not begin with /; give a path such as /metrics.`);
}

/**
 * The parameters of `metrics-data-source` that flags give: those that a configuration leaves out.
 */
export function withScrapeFlags(plan: PickerPlan, flags: ScrapeFlags): PickerPlan {
  const given = parametersOf(flags);
  const skips = flags.asReference === true && flags.scrapeSkipVerify === undefined;
  if (Object.keys(given).length === 0 && !skips) return plan;
  const plugins = plan.plugins.map((plugin) => {
    const own = withDefaults(plugin, given);
    return skips ? unverifiedAsThere(own) : own;
  });
  return { ...plan, plugins };
}

/** The sources of `plan` that read metrics pages by HTTPS without verifying certificates. */
export function unverifiedSources({ plugins }: PickerPlan): readonly string[] {
  const isUnverified = ({ config }: MetricsSource): boolean =>
    config.scheme === 'https' && config.insecureSkipVerify === true;
  return plugins.flatMap((each) => (isSource(each) && isUnverified(each) ? [each.name] : []));
}

/** Has a configuration file that is read again follow the flags about scraping each time. */
export function withScrapeFlagsOf(
  file: ConfigFile | undefined,
  flags: ScrapeFlags,
): ConfigFile | undefined {
  return file && { ...file, load: async (text) => withScrapeFlags(await file.load(text), flags) };
}

type Parameters = Readonly<Record<string, unknown>>;

function parametersOf(flags: ScrapeFlags): Parameters {
  const { scrapeIntervalMs, scrapeScheme, scrapePath, scrapePort, scrapeSkipVerify } = flags;
  return {
    ...(scrapeIntervalMs !== undefined && {
      interval: Math.max(INTERVAL_MS_MIN, scrapeIntervalMs),
    }),
    ...(scrapeScheme !== undefined && { scheme: scrapeScheme }),
    ...(scrapePath !== undefined && { path: scrapePath }),
    ...(scrapePort !== undefined && { port: scrapePort }),
    ...(scrapeSkipVerify !== undefined && { insecureSkipVerify: scrapeSkipVerify === 'true' }),
  };
}

type MetricsSource = PlannedPlugin & {
  readonly config: HttpTlsParameters & { readonly scheme?: unknown };
};

function isSource(plugin: PlannedPlugin): plugin is MetricsSource {
  return plugin.kind === 'source' && plugin.definition.type === metricsSource.type;
}

/** Switches verification off for a source by HTTPS whose parameters say nothing of certificates. */
function unverifiedAsThere(plugin: PlannedPlugin): PlannedPlugin {
  if (!isSource(plugin)) return plugin;
  const { scheme, insecureSkipVerify, caCertPath, serverName } = plugin.config;
  const says = insecureSkipVerify ?? caCertPath ?? serverName;
  if (scheme !== 'https' || says !== undefined) return plugin;
  return { ...plugin, config: { ...plugin.config, insecureSkipVerify: true } };
}

function withDefaults(plugin: PlannedPlugin, given: Parameters): PlannedPlugin {
  if (!isSource(plugin)) return plugin;
  const { definition } = plugin;
  const byDefault = definition.config.parse({}) as Parameters;
  const own: Parameters = { ...plugin.config };
  const isLeftOut = ([name]: readonly [string, unknown]): boolean =>
    own[name] === byDefault[name] || own[name] === 'adaptive';
  const left = Object.entries(given).filter(isLeftOut);
  return { ...plugin, config: definition.config.parse({ ...own, ...Object.fromEntries(left) }) };
}
