import { Command } from 'commander';
import type { Explanation } from '../journal/explain/explanation.ts';
import { explanationText } from '../journal/explain/explanation-text.ts';
import { askPicker, DEFAULT_ADMIN } from './ask-picker.ts';

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
    .option('--admin <address>', 'the picker’s metrics port', DEFAULT_ADMIN)
    .option('--all', 'print every endpoint, however many', false)
    .option('--json', 'print one JSON document', false)
    .action(async (id: string, { admin, all, json }: ExplainFlags) => {
      const path = `/debug/explain?id=${encodeURIComponent(id)}`;
      const explanation = await askPicker<Explanation>({ admin, path });
      if (json) process.stdout.write(`${JSON.stringify(explanation)}\n`);
      else process.stdout.write(explanationText(explanation, { all, time: timeOf(explanation) }));
    });
}

function timeOf({ wallMs }: Explanation): string {
  return new Date(wallMs).toISOString();
}
