import { Command } from 'commander';
import type { Explanation } from '../journal/explain/explanation.ts';
import { explanationText, outcomeText, textTable } from '../journal/explain/explanation-text.ts';
import type { DecisionLine, DecisionList } from '../serve/admin/decision-documents.ts';
import { askPicker, DEFAULT_ADMIN } from './ask-picker.ts';

interface ExplainFlags {
  readonly admin: string;
  readonly all: boolean;
  readonly json: boolean;
}

const LATEST = '/debug/decisions?limit=20';

/** `pointsman explain`. */
export function explainCommand(): Command {
  return new Command('explain')
    .description(
      'explain why a running picker sent a request where it did, if it is among its last decisions',
    )
    .argument(
      '[request-id]',
      'the x-request-id of the request, or the picker’s own id of it; the latest are listed without it',
    )
    .option('--admin <address>', 'the picker’s metrics port', DEFAULT_ADMIN)
    .option('--all', 'print every endpoint, however many', false)
    .option('--json', 'print one JSON document', false)
    .action(async (id: string | undefined, { admin, all, json }: ExplainFlags) => {
      if (id === undefined) {
        const list = await askPicker<DecisionList>({ admin, path: LATEST });
        process.stdout.write(json ? `${JSON.stringify(list)}\n` : listText(list));
        return;
      }
      const path = `/debug/explain?id=${encodeURIComponent(id)}`;
      const explanation = await askPicker<Explanation>({ admin, path });
      if (json) process.stdout.write(`${JSON.stringify(explanation)}\n`);
      else process.stdout.write(explanationText(explanation, { all, time: timeOf(explanation) }));
    });
}

/** A line for each decision, latest first. */
function listText({ decisions }: DecisionList): string {
  if (decisions.length === 0) return 'no decisions yet\n';
  const rows = decisions.map((line) => [
    timeOf(line),
    line.requestId || line.id,
    line.model || '?',
    outcomeText(line.outcome),
  ]);
  const table = textTable([['asked', 'request', 'model', 'went to'], ...rows], 4);
  return `${table.join('\n')}\n`;
}

function timeOf({ wallMs }: Pick<DecisionLine, 'wallMs'>): string {
  return new Date(wallMs).toISOString();
}
