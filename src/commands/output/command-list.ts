import { Command } from 'commander';

interface ListedCommand {
  readonly name: string;
  readonly description: string;
}

/** The commands of `--help` by what they are for. */
const GROUPS: Readonly<Record<string, readonly ListedCommand[]>> = {
  'Run:': [
    {
      name: 'serve',
      description: 'run the picker: an ext_proc server that Envoy asks where to send each request',
    },
    {
      name: 'gateway',
      description: 'run the embedded gateway, an HTTP proxy for machines without Envoy',
    },
    {
      name: 'sidecar',
      description: 'run the proxy of a decoding server, which has prompts prefilled elsewhere',
    },
    {
      name: 'stub',
      description:
        'run a pool of model servers without accelerators: the HTTP API and metrics of vLLM, a simulated engine',
    },
  ],
  'See what a running picker does, and why:': [
    {
      name: 'top',
      description: 'show what a running picker does and why, updated every second; q ends it',
    },
    {
      name: 'explain',
      description: 'explain one of the last decisions of a running picker',
    },
    {
      name: 'shadow',
      description: 'compare and promote the shadows of a picker, which `serve --shadow` starts',
    },
    {
      name: 'doctor',
      description:
        'say what is wrong with the set-up of Envoy, picker and cluster, with lines to paste; exit code 1 where something breaks',
    },
  ],
  'Try configurations:': [
    {
      name: 'demo',
      description: 'compare policies with stubs, picker, Envoy and a minute of a real trace',
    },
    {
      name: 'check',
      description:
        'check a configuration: list its errors, or say what would run and which parts have no effect',
    },
    {
      name: 'simulate',
      description: 'compare configurations on a trace, with simulated servers in virtual time',
    },
    {
      name: 'redecide',
      description: 'make all decisions of a capture again, by its own configuration or another one',
    },
    {
      name: 'replay',
      description: 'send a trace to a live gateway in real time',
    },
    {
      name: 'trace',
      description: 'describe traces and captures, and convert them to other formats',
    },
  ],
  'More:': [
    {
      name: 'scheduler',
      description: 'custom schedulers, in other processes or in modules (docs/schedulers.md)',
    },
    {
      name: 'calibrate',
      description:
        'fit the stub’s step time to measurements of a real engine, and report the errors of the fit',
    },
    {
      name: 'completion',
      description: 'print a script that completes commands and options in a shell',
    },
  ],
};

/**
 * The commands as `--help` lists them, without what they do: to load all of them takes five times
 * the CPU of the list.
 */
export function listedCommands(): readonly Command[] {
  return Object.entries(GROUPS).flatMap(([group, listed]) =>
    listed.map(({ name, description }) =>
      new Command(name).description(description).helpGroup(group),
    ),
  );
}
