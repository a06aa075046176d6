import type { BodyReader } from '../body/body-reader.ts';
import { JsonBodyReader } from '../body/json-body-reader.ts';
import type { ReadParts } from '../body/read-parts.ts';
import { UnreadBody } from '../body/unread-body.ts';
import type { RequestShape } from '../prompts/request-shape.ts';

/** How the bodies of some paths are read. */
export interface Reading {
  /** The fields of a JSON body; undefined for other bodies. */
  readonly shape?: RequestShape | undefined;
  open(parts: ReadParts): BodyReader;
}

export interface Claim {
  /** Where several parsers claim a path, the longest claim counts. In characters of the path. */
  readonly length: number;
  readonly reading: Reading;
}

/** Claims paths as `apiPath` gives them, in lower case; undefined for the others. */
export type Parser = (path: string) => Claim | undefined;

/** Claims the paths that end with these. */
export function suffixParser(readings: Readonly<Record<string, Reading>>): Parser {
  // The longest first, because the first suffix that fits counts.
  const claims = Object.entries(readings)
    .map(([suffix, reading]) => ({ suffix, length: suffix.length, reading }))
    .sort((a, b) => b.length - a.length);
  return (path) => claims.find(({ suffix }) => path.endsWith(suffix));
}

export const UNREAD: Reading = { open: (parts) => new UnreadBody(parts) };

/**
 * Reads JSON bodies of the shape, whatever their content type says: some servers do not look at it,
 * and a body that passed unread would keep its model and its control fields.
 */
export function jsonReading(shape: RequestShape): Reading {
  return { shape, open: (parts) => new JsonBodyReader({ ...parts, shape }) };
}
