import { Command } from 'commander';
import {
  explanationText,
  flowRecordText,
  refusedRequestText,
} from '../journal/explain/explanation-text.ts';
import type { DecisionList } from '../serve/admin/decision-documents.ts';
import type { ExplainedRequest } from '../serve/admin/explained-request.ts';
import { type AdminFlags, addAdminOptions, askPicker } from './admin-client/ask-picker.ts';
import { decisionListText } from './output/decision-list-text.ts';
import { stdoutColumns } from './output/fitting-columns.ts';
import { printable } from './output/printable.ts';

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
      const columns = stdoutColumns();
      if (id === undefined) {
        const list = await askPicker<DecisionList>({ ...flags, path: LATEST });
        process.stdout.write(
          json ? `${JSON.stringify(list)}\n` : printable(decisionListText(list, columns)),
        );
        return;
      }
      const path = `/debug/explain?id=${encodeURIComponent(id)}`;
      const found = await askPicker<ExplainedRequest>({ ...flags, path });
      const text = explainedText(found, { all, columns });
      process.stdout.write(json ? `${JSON.stringify(found)}\n` : printable(text));
    });
}

function explainedText(
  found: ExplainedRequest,
  shown: { readonly all: boolean; readonly columns: number },
): string {
  if ('outcome' in found) return explanationText(found, { ...shown, time: timeText(found.wallMs) });
  if ('refused' in found) return refusedRequestText(found, timeText(found.wallMs));
  return flowRecordText(found, timeText(found.wallMs - found.flowControl.waitedMs));
}

function timeText(wallMs: number): string {
  return new Date(wallMs).toISOString();
}
