import { Command } from 'commander';
import { EMBEDDED_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { withPlugins } from '../catalogue/load-plugins.ts';
import { loadConfig } from '../config/load.ts';
import { ConfigError, messageOf } from '../framework/error.ts';
import { checkScheduler, type RuleResult } from '../remote/contract/check-scheduler.ts';
import { moduleSessionOpener } from '../remote/contract/module-session.ts';
import { remoteSessionOpener } from '../remote/contract/remote-session.ts';
import { ADDRESS } from '../remote/remote.ts';
import { whyNoConnection } from '../runtime/network/client/no-connection.ts';
import { createRealRuntime } from '../runtime/real-runtime.ts';
import { CommandFailure } from './admin-client/command-errors.ts';
import { pluginOption } from './options/option-values.ts';

interface SchedulerCheckFlags {
  readonly plugin: readonly string[];
  readonly parameters: string;
  readonly tls: boolean;
  readonly ca?: string;
  readonly json: boolean;
}

/** `pointsman scheduler`. */
export function schedulerCommand(): Command {
  const check = new Command('check')
    .description('check that a scheduler keeps the rules that a picker relies on')
    .argument('<address|type>', 'unix:/path or host:port; with --plugin, the scheduler’s type')
    .addOption(pluginOption())
    .option('--parameters <json>', 'parameters of the module’s scheduler', '{}')
    .option('--tls', 'use TLS and trust the system’s authorities', false)
    .option('--ca <file>', 'use TLS and trust the authorities in this file')
    .option('--json', 'print one JSON document', false)
    .action(async (subject: string, flags: SchedulerCheckFlags) => {
      // The runtime's timers do not keep a process alive that waits for an answer.
      const awake = setInterval(() => undefined, 1000);
      const results = await (flags.plugin.length === 0
        ? checkProcess(subject, flags)
        : checkModule(subject, flags));
      clearInterval(awake);
      process.stdout.write(flags.json ? `${JSON.stringify({ results })}\n` : asText(results));
      if (results.some(({ fault }) => fault !== undefined)) process.exitCode = 1;
    });
  return new Command('scheduler')
    .description('custom schedulers, in other processes or in modules (docs/schedulers.md)')
    .addCommand(check);
}

async function checkProcess(
  address: string,
  { tls, ca }: SchedulerCheckFlags,
): Promise<readonly RuleResult[]> {
  if (!ADDRESS.test(address)) {
    throw new ConfigError('scheduler check', [
      {
        path: address,
        message:
          'is not an address: give unix:/path or host:port of a scheduler that runs, or for a module --plugin <file> and the type of its scheduler',
      },
    ]);
  }
  const secure = tls || ca !== undefined ? { caPath: ca } : undefined;
  const results = await checkScheduler(
    remoteSessionOpener({ address, tls: secure }, createRealRuntime({ seed: 0 })),
  );
  const faults = results.flatMap(({ fault }) => fault ?? []);
  const [fault, ...others] = new Set(faults);
  // C10 is kept also where no stream opens: it is about one that ends.
  const reached = others.length > 0 || faults.length < results.length - 1;
  if (fault === undefined || reached) return results;
  const why = whyNoConnection(fault);
  if (why === undefined) throw new CommandFailure(`no scheduler at ${address}: ${fault}`);
  const advice = 'does it run there, and do it and this command both use TLS (--tls), or neither?';
  throw new CommandFailure(`no scheduler at ${address}${why && ` (${why})`}: ${advice}`);
}

/** Loads the scheduler as `serve` does, so that errors in its parameters read the same. */
async function checkModule(
  type: string,
  { plugin, parameters }: SchedulerCheckFlags,
): Promise<readonly RuleResult[]> {
  const catalogue = await withPlugins({ ...EMBEDDED_CATALOGUE, schedulers: [] }, plugin);
  const kind = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };
  const scheduler = { type, ...parsed(parameters) };
  const layer = { plugins: [{ type: 'max-score-picker' }], dataLayer: { injectDefaults: false } };
  const text = JSON.stringify({ ...kind, ...layer, scheduler });
  const plan = loadConfig({ text, source: plugin.join(', '), catalogue });
  const runtime = createRealRuntime({ seed: 0 });
  const { scheduler: planned, plugins } = plan;
  if (planned === undefined) throw new Error(`the plan lacks the scheduler ${type}`);
  // The plan has only sources that provide what the scheduler needs.
  const producers = plugins.filter((each) => each.kind === 'source');
  const open = moduleSessionOpener({ scheduler: planned, producers }, runtime);
  return checkScheduler(open, { isModule: true });
}

function parsed(parameters: string): object {
  try {
    return JSON.parse(parameters) as object;
  } catch (error) {
    const why = messageOf(error);
    throw new ConfigError('scheduler check', [
      { path: '--parameters', message: `is not JSON: ${why}` },
    ]);
  }
}

function asText(results: readonly RuleResult[]): string {
  const lines = results.map(({ rule, says, fault }) => {
    const line = `${fault === undefined ? 'ok  ' : 'FAIL'} ${rule.padEnd(3)} ${says}`;
    return fault === undefined ? line : `${line}\n         ${fault}`;
  });
  const kept = results.filter(({ fault }) => fault === undefined).length;
  return `${lines.join('\n')}\n${kept} of ${results.length} kept\n`;
}
