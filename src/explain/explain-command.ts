import { Command } from 'commander';
import { ConfigError } from '../framework/error.ts';
import type { Explanation } from './explanation.ts';
import { explanationText } from './explanation-text.ts';

interface ExplainFlags {
  readonly admin: string;
  readonly all: boolean;
  readonly json: boolean;
}

/** `pointsman explain`. */
export function explainCommand(): Command {
  return new Command('explain')
    .description(
      'why a running picker sent a request where it did, if it is among its last decisions',
    )
    .argument('<request-id>', 'the request’s x-request-id, or the picker’s own id of it')
    .option('--admin <address>', 'the picker’s metrics port', '127.0.0.1:9090')
    .option('--all', 'print every endpoint, however many', false)
    .option('--json', 'print one JSON document', false)
    .action(async (id: string, { admin, all, json }: ExplainFlags) => {
      const explanation = await ask(id, admin);
      if (json) process.stdout.write(`${JSON.stringify(explanation)}\n`);
      else process.stdout.write(explanationText(explanation, { all, time: timeOf(explanation) }));
    });
}

function timeOf({ wallMs }: Explanation): string {
  return new Date(wallMs).toISOString();
}

async function ask(id: string, admin: string): Promise<Explanation> {
  const base = /^https?:\/\//.test(admin) ? admin : `http://${admin}`;
  let answer: Response;
  try {
    answer = await fetch(new URL(`/debug/explain?id=${encodeURIComponent(id)}`, base));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = `no picker at ${admin} (${why}); is it the port of --metrics-port?`;
    throw new ConfigError('explain', [{ path: '--admin', message }]);
  }
  const document = (await answer.json()) as Explanation & { readonly error?: string };
  if (answer.ok) return document;
  const message = document.error ?? `answered ${answer.status}`;
  throw new ConfigError('explain', [{ path: admin, message }]);
}
