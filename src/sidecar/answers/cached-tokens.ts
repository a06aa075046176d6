import { JsonObject } from '../../openai/json/json-object.ts';
import type { GenerationApi } from '../body/generation-api.ts';
import { memberObject, type TurnsReader } from '../body/read-in-turns.ts';
import { answeredObject, type EngineAnswer, editedAnswer } from './engine-answer.ts';

/** Where an API says how many tokens of a prompt were cached, within `usage`. */
const DETAILS: Readonly<Record<string, string>> = {
  chat_completions: 'prompt_tokens_details',
  completions: 'prompt_tokens_details',
  responses: 'input_tokens_details',
};
const CACHED = 'cached_tokens';
const USAGE = Buffer.from('"usage"');
/** A count has fewer digits. */
const DIGITS_READ = 20;
/** A text is searched in one go only up to here. */
const LONG_BYTES = 64 * 1024;

/** Tokens of the prompt that were cached, as an answer says; 0 where it says nothing. */
export async function cachedTokensIn(
  answer: JsonObject,
  { name }: GenerationApi,
  inTurns: TurnsReader,
): Promise<number> {
  const usage = await memberObject(answer, 'usage', inTurns);
  const details = usage && (await memberObject(usage, DETAILS[name] ?? '', inTurns));
  const text = details?.member(CACHED)?.toString('latin1', 0, DIGITS_READ);
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/**
 * The answer of a decoding server with the count of the prefilling one: to the decoding server, all
 * that was transferred to it was cached.
 */
export function withCachedTokens(
  answer: EngineAnswer,
  { name }: GenerationApi,
  cached: number,
): EngineAnswer {
  const details = DETAILS[name];
  if (details === undefined || answer.statusCode >= 400) return answer;
  return editedAnswer(answer, async (json, inTurns) => {
    if (json.length < LONG_BYTES && json.indexOf(USAGE) < 0) return [json];
    const object = await answeredObject(json, inTurns);
    return (object && (await editUsage(object, { details, cached, inTurns })))?.pieces ?? [json];
  });
}

interface UsageEdit {
  readonly details: string;
  readonly cached: number;
  readonly inTurns: TurnsReader;
}

/**
 * With another count; undefined where that changes nothing. In events of the responses API, `usage`
 * is in `response`.
 */
async function editUsage(json: JsonObject, edit: UsageEdit): Promise<JsonObject | undefined> {
  const { details, cached, inTurns } = edit;
  const member = (of: JsonObject, name: string): Promise<JsonObject | undefined> =>
    memberObject(of, name, inTurns);
  if (json.member('response') !== undefined) {
    const inner = await member(json, 'response');
    const response = inner && (await editUsage(inner, edit));
    return response && json.with({ response });
  }
  const usage = await member(json, 'usage');
  if (usage === undefined) return undefined;
  const object = (await member(usage, details)) ?? JsonObject.EMPTY;
  // Servers leave the field out where it would be 0.
  if (String(object.member(CACHED) ?? 0) === String(cached)) return undefined;
  const edited = object.with({ [CACHED]: String(cached) });
  return json.with({ usage: usage.with({ [details]: edited }) });
}
