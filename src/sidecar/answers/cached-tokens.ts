import { memberOf, withMembers } from '../../openai/json/json-members.ts';
import { isJsonObject } from '../body/client-body.ts';
import type { GenerationApi } from '../body/generation-api.ts';
import { type EngineAnswer, editedAnswer } from './engine-answer.ts';

/** Where an API says how many tokens of a prompt were cached, within `usage`. */
const DETAILS: Readonly<Record<string, string>> = {
  chat_completions: 'prompt_tokens_details',
  completions: 'prompt_tokens_details',
  responses: 'input_tokens_details',
};
const CACHED = 'cached_tokens';
const USAGE = Buffer.from('"usage"');

/** Tokens of the prompt that were cached, as an answer says; 0 where it says nothing. */
export function cachedTokensIn(answer: Buffer, { name }: GenerationApi): number {
  const usage = memberOf(answer, 'usage');
  const details = usage && memberOf(usage, DETAILS[name] ?? '');
  const text = details && memberOf(details, CACHED)?.toString();
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
  return editedAnswer(answer, (json) => {
    if (json.indexOf(USAGE) < 0 || !isJsonObject(json)) return json;
    return editUsage(json, details, cached);
  });
}

/** In events of the responses API, `usage` is in `response`. */
function editUsage(json: Buffer, details: string, cached: number): Buffer {
  const response = memberOf(json, 'response');
  if (response !== undefined) {
    return withMembers(json, { response: editUsage(response, details, cached) });
  }
  const usage = memberOf(json, 'usage');
  if (usage?.[0] !== 0x7b) return json;
  const found = memberOf(usage, details);
  const said = found && memberOf(found, CACHED);
  // Servers leave the field out where it would be 0.
  if (String(said ?? 0) === String(cached)) return json;
  const object = found?.[0] === 0x7b ? found : Buffer.from('{}');
  const edited = withMembers(object, { [CACHED]: String(cached) });
  return withMembers(json, { usage: withMembers(usage, { [details]: edited }) });
}
