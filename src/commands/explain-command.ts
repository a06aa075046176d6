import { Command } from 'commander';
import type { Explanation } from '../journal/explain/explanation.ts';
import { explanationText, outcomeText, textTable } from '../journal/explain/explanation-text.ts';
import type { DecisionLine, DecisionList } from '../serve/admin/decision-documents.ts';
import { type AdminFlags, addAdminOptions, askPicker } from './ask-picker.ts';

interface ExplainFlags extends AdminFlags {
  readonly all: boolean;
  readonly json: boolean;
}

const LATEST = '/debug/decisions?limit=20';

export function explainCommand(): Command {
  const command = new Command('explain')
    .description('explain one of the last decisions of a running picker')
    .argument(
      '[request-id]',
      'the x-request-id, or the picker’s own id; lists the latest if absent',
    );
  return addAdminOptions(command)
    .option('--all', 'print every endpoint, however many', false)
    .option('--json', 'print one JSON document', false)
    .action(async (id: string | undefined, { all, json, ...flags }: ExplainFlags) => {
      if (id === undefined) {
        const list = await askPicker<DecisionList>({ ...flags, path: LATEST });
        process.stdout.write(json ? `${JSON.stringify(list)}\n` : listText(list));
        return;
      }
      const path = `/debug/explain?id=${encodeURIComponent(id)}`;
      const explanation = await askPicker<Explanation>({ ...flags, path });
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
