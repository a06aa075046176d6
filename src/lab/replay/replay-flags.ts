import { InvalidArgumentError } from 'commander';
import type { ShapeFlags } from '../traces/shape-options.ts';
import type { Api } from './completion-target.ts';

export interface ReplayFlags extends ShapeFlags {
  /** At least one. */
  readonly target: readonly URL[];
  readonly trace: string;
  readonly from?: string;
  readonly name: readonly string[];
  readonly speed: number;
  readonly requests?: number;
  readonly model?: string;
  readonly api: Api;
  readonly header: Readonly<Record<string, string>>;
  readonly servedBy: string;
  readonly templateTokens: number;
  readonly salt?: string;
  readonly concurrency: number;
  /** Seconds. */
  readonly timeout: number;
  readonly closedLoop: boolean;
  readonly lenient: boolean;
  readonly report?: string;
  readonly json: boolean;
}

export function webAddress(text: string, before: readonly URL[] = []): readonly URL[] {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return [...before, url];
  throw new InvalidArgumentError(`${text} is not an http or https address.`);
}

export function header(
  text: string,
  before: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const colon = text.indexOf(':');
  const name = text.slice(0, colon).trim().toLowerCase();
  const value = text.slice(colon + 1).trim();
  // Not repeated in the message: it may be a key.
  if (colon < 0 || !/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\t\x20-\x7e]/.test(value)) {
    throw new InvalidArgumentError('a header is given as `name: value`, in ASCII.');
  }
  return { ...before, [name]: value };
}

export function names(text: string, before: readonly string[]): readonly string[] {
  if (!before.includes(text)) return [...before, text];
  throw new InvalidArgumentError(`${text} names two targets.`);
}

export function oneOfApis(text: string): Api {
  if (text === 'completions' || text === 'chat') return text;
  throw new InvalidArgumentError(`${text} is neither completions nor chat.`);
}

export function positive(text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new InvalidArgumentError(`${text} is not a number above 0.`);
}

export function count(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new InvalidArgumentError(`${text} is not a whole number of 0 or more.`);
}

export function atLeastOne(text: string): number {
  const value = count(text);
  if (value > 0) return value;
  throw new InvalidArgumentError('must be 1 or more.');
}
