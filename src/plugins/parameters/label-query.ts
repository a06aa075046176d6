import { z } from 'zod';

export type LabelQuery = (labels: ReadonlyMap<string, string>) => boolean;

const KEY = String.raw`[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?`;
const VALUE = '[A-Za-z0-9._-]*';
const EQUALITY = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*(${VALUE})$`);
const SET = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const PRESENCE = new RegExp(`^(!?)\\s*(${KEY})$`);

/** A label selector as kubectl takes it, such as `app=llm,tier in (a,b),!canary`. */
export const labelQuery: z.ZodType<string> = z.string().superRefine((text, context) => {
  const wrong = parts(text).find((part) => queryOf(part) === undefined);
  if (wrong === undefined) return;
  context.addIssue({ code: 'custom', message: `${JSON.stringify(wrong)} is no label selector` });
});

/** `text` has been checked by `labelQuery`. An empty one matches everything. */
export function parseLabelQuery(text: string): LabelQuery {
  const queries = parts(text).flatMap((part) => queryOf(part) ?? []);
  return (labels) => queries.every((query) => query(labels));
}

/** Commas separate the parts, but not within parentheses. */
function parts(text: string): readonly string[] {
  const trimmed = text.trim();
  return trimmed === '' ? [] : trimmed.split(/,(?![^(]*\))/).map((part) => part.trim());
}

function queryOf(part: string): LabelQuery | undefined {
  const [, name = '', operator, wanted = ''] = EQUALITY.exec(part) ?? [];
  if (operator === '!=') return (labels) => labels.get(name) !== wanted;
  if (operator !== undefined) return (labels) => labels.get(name) === wanted;
  const [, key = '', within, list = ''] = SET.exec(part) ?? [];
  if (within !== undefined) {
    const values = new Set(list.split(',').map((value) => value.trim()));
    return (labels) => values.has(labels.get(key) ?? '\0') === (within === 'in');
  }
  const [, negation, present = ''] = PRESENCE.exec(part) ?? [];
  if (negation === undefined) return undefined;
  return (labels) => labels.has(present) === (negation === '');
}
