import { Command } from 'commander';
import type { Explanation } from '../journal/explain/explanation.ts';
import { explanationText, outcomeText, textTable } from '../journal/explain/explanation-text.ts';
import type { DecisionLine, DecisionList } from '../serve/admin/decision-documents.ts';
import { adminOption, askPicker } from './ask-picker.ts';

interface ExplainFlags {
  readonly admin: string;
  readonly all: boolean;
  readonly json: boolean;
}

const LATEST = '/debug/decisions?limit=20';

export function explainCommand(): Command {
  return new Command('explain')
    .description('explain one of the last decisions of a running picker')
    .argument(
      '[request-id]',
      'the x-request-id, or the picker’s own id; lists the latest if absent',
    )
    .addOption(adminOption())
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
      const text = explanationText(explanation, { all, time: timeOf(explanation) });
      process.stdout.write(json ? `${JSON.stringify(explanation)}\n` : text);
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
