import { Command } from 'commander';
import type { Explanation } from '../journal/explain/explanation.ts';
import { explanationText, outcomeText } from '../journal/explain/explanation-text.ts';
import type { DecisionList } from '../serve/admin/decision-documents.ts';
import { type AdminFlags, addAdminOptions, askPicker } from './admin-client/ask-picker.ts';
import { namesOf } from './output/endpoint-names.ts';

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

const HEAD = ['request', 'age', 'endpoint', 'model', 'tokens', 'predicted', 'observed', 'waited'];
const LIST_NOTE = [
  'predicted, observed: time to the first token, observed in streamed answers only',
  'waited: the part of it at the picker; –: not known',
];

/** A line for each decision, latest first. */
function listText({ decisions, wallMs }: DecisionList): string {
  if (decisions.length === 0) return 'no decisions yet\n';
  const nameOf = namesOf(
    decisions.flatMap(({ outcome }) => (outcome.kind === 'picked' ? [outcome.endpoint] : [])),
  );
  const rows = decisions.map((line) => [
    line.requestId || line.id,
    ageText(wallMs - line.wallMs),
    line.outcome.kind === 'picked' ? nameOf(line.outcome.endpoint) : outcomeText(line.outcome),
    line.model || '?',
    line.promptTokens.toLocaleString('en'),
    durationText(line.times?.predictedTtftMs),
    durationText(line.times?.observedTtftMs),
    durationText(line.times?.waitedMs),
  ]);
  const isLeft = (at: number): boolean => at === 0 || at === 2 || at === 3;
  const widths = HEAD.map((head, at) =>
    Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const lines = [HEAD, ...rows].map((row) =>
    row
      .map((cell, at) =>
        isLeft(at) ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0),
      )
      .join('  '),
  );
  return `${[...lines, ...LIST_NOTE].join('\n')}\n`;
}

function ageText(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function durationText(ms: number | undefined): string {
  if (ms === undefined) return '–';
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms).toLocaleString('en')} ms`;
}

function timeOf({ wallMs }: Pick<Explanation, 'wallMs'>): string {
  return new Date(wallMs).toISOString();
}
