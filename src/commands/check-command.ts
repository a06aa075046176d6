import { Command } from 'commander';
import { planFromPlugins } from '../catalogue/plan.ts';
import { pluginOption } from './option-values.ts';

/** `pointsman check`: reads a configuration as `serve` would, and prints what would run. */
export function checkCommand(): Command {
  return new Command('check')
    .description('check a configuration: list all its errors, or the plugins that it would run')
    .argument('<file|name>', 'EndpointPickerConfig file, or name of a built-in configuration')
    .addOption(pluginOption())
    .option('--json', 'print one JSON document', false)
    .action(async (config: string, flags: { json: boolean; plugin: readonly string[] }) => {
      const plan = await planFromPlugins(config, flags.plugin);
      const effective = {
        plugins: plan.plugins.map(({ name, kind, definition, config: parameters }) => ({
          name,
          type: definition.type,
          kind,
          parameters,
        })),
        profiles: plan.profiles.map(({ name, plugins }) => ({
          name,
          plugins: plugins.map(({ plugin, weight }) => ({
            name: plugin.name,
            ...(plugin.kind === 'scorer' && { weight }),
          })),
        })),
        handler: plan.handler.name,
        discovery: plan.discovery,
        warnings: plan.warnings,
      };
      const text = flags.json ? `${JSON.stringify(effective, undefined, 2)}\n` : asText(effective);
      process.stdout.write(text);
    });
}

interface Effective {
  readonly plugins: readonly { name: string; kind: string; parameters: unknown }[];
  readonly profiles: readonly {
    readonly name: string;
    readonly plugins: readonly { name: string; weight?: number }[];
  }[];
  readonly warnings: readonly string[];
}

function asText({ plugins, profiles, warnings }: Effective): string {
  const lines = ['ok', '', 'plugins'];
  for (const { name, kind, parameters } of plugins) {
    lines.push(`  ${kind.padEnd(8)} ${name.padEnd(32)} ${JSON.stringify(parameters)}`);
  }
  for (const profile of profiles) {
    lines.push('', `profile ${profile.name}`);
    for (const { name, weight } of profile.plugins) {
      lines.push(`  ${name}${weight === undefined ? '' : ` × ${weight}`}`);
    }
  }
  for (const warning of warnings) lines.push('', `warning: ${warning}`);
  return `${lines.join('\n')}\n`;
}
