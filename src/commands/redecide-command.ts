import { existsSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { SERVING_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { withPlugins } from '../catalogue/load-plugins.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { ConfigError } from '../framework/error.ts';
import { readCapture } from '../journal/capture/read-capture.ts';
import { type RunOptions, redecide } from '../lab/redecide/redecide.ts';
import { RedecideTally } from '../lab/redecide/redecide-tally.ts';
import { createRealRuntime } from '../runtime/real-runtime.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { pluginOption } from './option-values.ts';

interface RedecideFlags {
  readonly config?: string;
  readonly plugin: readonly string[];
  readonly show: string;
  readonly json: boolean;
}

/** `pointsman redecide`. */
export function redecideCommand(): Command {
  return new Command('redecide')
    .description('decide everything in a capture again, by its own configuration or another')
    .argument(
      '<capture>',
      'a folder that `pointsman serve --capture` has written, or one file of it',
    )
    .option('--config <file|name>', 'another configuration; the capture’s own without it')
    .addOption(pluginOption())
    .option('--show <n>', 'so many of the decisions that differ', '10')
    .option('--json', 'print one JSON document', false)
    .action(async (path: string, { config, plugin, show, json }: RedecideFlags) => {
      const { records, warnings } = readCapture(path);
      const catalogue = await withPlugins(SERVING_CATALOGUE, plugin);
      const given = config === undefined ? undefined : configOf(config);
      const tally = new RedecideTally(Number(show));
      await withScheduler(given, async (options) => {
        const onReplacement = tally.addReplacement.bind(tally);
        const decided = redecide(records, {
          ...options,
          catalogue,
          randomOf: seededRandom,
          explains: true,
          onReplacement,
        });
        for await (const each of decided) tally.add(each);
      });
      process.stdout.write(
        json ? `${JSON.stringify({ ...tally.summary(), warnings })}\n` : tally.text(),
      );
      if (!json) for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
      // By its own configuration anything but the same is a fault of ours, or a capture that is not whole.
      if (config === undefined && tally.differ > 0) process.exitCode = 1;
    });
}

/**
 * Another configuration may name a scheduler in another process, for which alone there is a network; what the capture's own
 * decided is in the capture.
 */
async function withScheduler(
  config: RunOptions['config'],
  run: (options: Pick<RunOptions, 'config' | 'schedulerRuntime'>) => Promise<void>,
): Promise<void> {
  if (config === undefined) {
    await run({});
    return;
  }
  const schedulerRuntime = createRealRuntime({ seed: 0 });
  // While an answer or a connection is waited for there may be nothing else that keeps the process.
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  try {
    await run({ config, schedulerRuntime });
  } finally {
    clearInterval(keepAlive);
    await schedulerRuntime.network.close();
  }
}

function configOf(name: string): { readonly text: string; readonly source: string } {
  const named = NAMED_CONFIGS.get(name);
  if (named !== undefined) return { text: named, source: `built-in configuration ${name}` };
  if (existsSync(name)) return { text: readFileSync(name, 'utf8'), source: name };
  const known = [...NAMED_CONFIGS.keys()].join(', ');
  const message = `${name} is neither a file nor one of ${known}`;
  throw new ConfigError('redecide', [{ path: '--config', message }]);
}
