import { Command } from 'commander';
import { createRealRuntime } from '../runtime/real-runtime.ts';
import { type ClaimResult, checkScheduler } from './contract/check-scheduler.ts';
import { sessionOpener } from './contract/open-session.ts';

interface CheckFlags {
  readonly tls: boolean;
  readonly ca?: string;
  readonly json: boolean;
}

/** `pointsman scheduler`. */
export function schedulerCommand(): Command {
  const check = new Command('check')
    .description('try whether a scheduler in another process keeps what a picker relies on')
    .argument('<address>', 'unix:/path or host:port')
    .option('--tls', 'speak TLS, trusting the system’s authorities', false)
    .option('--ca <file>', 'speak TLS, trusting the authorities in this file')
    .option('--json', 'print one JSON document', false)
    .action(async (address: string, { tls, ca, json }: CheckFlags) => {
      const runtime = createRealRuntime({ seed: 0 });
      const secure = tls || ca !== undefined ? { caPath: ca } : undefined;
      // The runtime's timers let a process end while one waits for an answer that never comes.
      const awake = setInterval(() => undefined, 1000);
      const results = await checkScheduler(sessionOpener({ address, tls: secure }, runtime));
      clearInterval(awake);
      process.stdout.write(json ? `${JSON.stringify({ results })}\n` : asText(results));
      if (results.some(({ fault }) => fault !== undefined)) process.exitCode = 1;
    });
  return new Command('scheduler')
    .description('schedulers in other processes (docs/schedulers.md)')
    .addCommand(check);
}

function asText(results: readonly ClaimResult[]): string {
  const lines = results.map(({ rule, says, fault }) => {
    const line = `${fault === undefined ? 'ok  ' : 'FAIL'} ${rule.padEnd(3)} ${says}`;
    return fault === undefined ? line : `${line}\n         ${fault}`;
  });
  const kept = results.filter(({ fault }) => fault === undefined).length;
  return `${lines.join('\n')}\n${kept} of ${results.length} kept\n`;
}
