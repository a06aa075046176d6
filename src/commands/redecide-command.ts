import { Command } from 'commander';
import { SERVING_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { withPlugins } from '../catalogue/load-plugins.ts';
import { configText } from '../catalogue/plan.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { ConfigError } from '../framework/error.ts';
import { readCapture } from '../journal/capture/read-capture.ts';
import { type RunOptions, redecide } from '../redecide/redecide.ts';
import { RedecideTally } from '../redecide/redecide-tally.ts';
import { createRealRuntime } from '../runtime/real-runtime.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { pluginOption, wholeNumber } from './options/option-values.ts';
import { printable } from './output/printable.ts';
import { startProgress } from './output/progress.ts';

interface RedecideFlags {
  readonly config?: string;
  readonly plugin: readonly string[];
  readonly show: number;
  readonly json: boolean;
}

/** The bar moves after so many decisions. */
const DECISIONS_SHOWN = 256;

/** `pointsman redecide`: exit code 1 when a capture's own configuration decides differently. */
export function redecideCommand(): Command {
  return new Command('redecide')
    .description('make all decisions of a capture again, by its own configuration or another one')
    .argument('<capture>', 'folder written by `pointsman serve --capture`, or one of its files')
    .option('--config <file|name>', 'another configuration; without it, the capture’s own decides')
    .addOption(pluginOption())
    .option('--show <n>', 'show this many of the decisions that differ', wholeNumber, 10)
    .option('--json', 'print one JSON document', false)
    .action(run);
}

async function run(path: string, { config, plugin, show, json }: RedecideFlags): Promise<void> {
  const { records, warnings, progress } = readCapture(path);
  const catalogue = await withPlugins(SERVING_CATALOGUE, plugin);
  const given = config === undefined ? undefined : configOf(config);
  const tally = new RedecideTally(show, { isComparison: config !== undefined });
  await withScheduler(given, async (options) => {
    const onReplacement = tally.addReplacement.bind(tally);
    const onUncaptured = tally.addUncaptured.bind(tally);
    const making = { catalogue, randomOf: seededRandom, explains: true };
    const all = { ...options, ...making, onReplacement, onUncaptured };
    await addAll(tally, redecide(records, all), progress);
  });
  if (tally.isEmpty) {
    const message = ['holds no decision', ...warnings].join('; ');
    throw new ConfigError(path, [{ path: 'capture', message }]);
  }
  const document = { ...tally.summary(), warnings };
  process.stdout.write(json ? `${JSON.stringify(document)}\n` : printable(tally.text()));
  if (!json) for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  // Its own configuration decides differently if Pointsman is wrong or records are missing.
  if (config === undefined && tally.differ > 0) process.exitCode = 1;
}

/** Adds each decision to the tally, and shows on a terminal how far the capture is read. */
async function addAll(
  tally: RedecideTally,
  decisions: ReturnType<typeof redecide>,
  progress: ReturnType<typeof readCapture>['progress'],
): Promise<void> {
  const bar = startProgress({
    total: progress.totalBytes,
    format: '{percentage} % of the capture, {decisions} decisions',
    payload: { decisions: 0 },
  });
  try {
    for await (const each of decisions) {
      tally.add(each);
      if (tally.decisions % DECISIONS_SHOWN !== 0) continue;
      const { readBytes, totalBytes } = progress;
      bar.update(Math.min(readBytes, totalBytes), { decisions: tally.decisions });
    }
  } finally {
    bar.stop();
  }
}

/**
 * Runs with a network only for another configuration, which may name a scheduler in another
 * process. Such decisions of the capture's own configuration are in the capture.
 */
async function withScheduler(
  config: RunOptions['config'],
  run: (options: Pick<RunOptions, 'config' | 'schedulerRuntime'>) => Promise<void>,
): Promise<void> {
  if (config === undefined) return run({});
  const schedulerRuntime = createRealRuntime({ seed: 0 });
  // While the run waits for the scheduler, nothing else may keep the process alive.
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  try {
    await run({ config, schedulerRuntime });
  } finally {
    clearInterval(keepAlive);
    await schedulerRuntime.network.close();
  }
}

function configOf(name: string): { readonly text: string; readonly source: string } {
  const source = NAMED_CONFIGS.has(name) ? `built-in configuration ${name}` : name;
  return { text: configText(name), source };
}
