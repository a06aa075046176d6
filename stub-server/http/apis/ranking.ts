import { z } from 'zod';
import { ApiError, parseBody, sendJson } from '../replica/api-error.ts';
import type { Call } from '../requests/call.ts';
import { tokenIdsOf } from '../requests/tokenizer.ts';
import { compute, requestOf } from './compute.ts';

/** The most pairs of texts in a request. */
const PAIRS_MAX = 2048;

const texts = z.union([z.string(), z.array(z.string()).min(1)]);
const rerankSchema = z.looseObject({
  model: z.string().nullish(),
  query: z.string(),
  documents: texts,
  top_n: z.int().nullish(),
});
const scoreSchema = z.looseObject({
  model: z.string().nullish(),
  text_1: texts.optional(),
  queries: texts.optional(),
  text_2: texts.optional(),
  documents: texts.optional(),
});

interface Pair {
  readonly query: string;
  readonly document: string;
}

/** `/rerank`: the documents by how much of the query they have, the best one first. */
export function rerank(call: Call): undefined {
  const { model, query, documents, top_n: top } = parseBody(rerankSchema, call.json());
  const pairs = listOf(documents).map((document): Pair => ({ query, document }));
  rank(call, model, pairs, ({ id, usage, ...answer }) => {
    const results = pairs
      .map((pair, index) => ({
        index,
        document: { text: pair.document, multi_modal: null },
        relevance_score: relevanceOf(pair),
      }))
      .sort((a, b) => b.relevance_score - a.relevance_score);
    const wanted = top !== null && top !== undefined && top > 0 ? top : results.length;
    return { id: `rerank-${id}`, ...answer, usage, results: results.slice(0, wanted) };
  });
}

/** `/score`: how alike the texts of each pair are. */
export function score(call: Call): undefined {
  const { model, ...given } = parseBody(scoreSchema, call.json());
  const first = given.queries ?? given.text_1;
  const second = given.documents ?? given.text_2;
  if (first === undefined || second === undefined) {
    throw new ApiError(400, 'text_1 and text_2, or queries and documents, must be given');
  }
  const [queries, documents] = [listOf(first), listOf(second)];
  if (queries.length !== 1 && queries.length !== documents.length) {
    throw new ApiError(400, 'Input lengths must be either 1:1, 1:N or N:N');
  }
  const pairs = documents.map(
    (document, index): Pair => ({ query: queries[index] ?? (queries[0] as string), document }),
  );
  rank(call, model, pairs, ({ id, usage, model: named }) => {
    const data = pairs.map((pair, index) => ({ index, object: 'score', score: relevanceOf(pair) }));
    const created = Math.floor(call.replica.clock.wallTime() / 1000);
    return { id: `score-${id}`, object: 'list', created, model: named, data, usage };
  });
}

interface Ranked {
  readonly id: string;
  readonly model: string;
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number };
}

/** Answers when the engine has computed each pair as a prompt. */
function rank(
  call: Call,
  named: string | null | undefined,
  pairs: readonly Pair[],
  answer: (ranked: Ranked) => object,
): void {
  if (pairs.length > PAIRS_MAX) {
    throw new ApiError(400, `${pairs.length} pairs of texts are more than ${PAIRS_MAX}`);
  }
  const model = named ?? call.replica.options.model;
  const prompts = pairs.map(({ query, document }) => tokenIdsOf(Buffer.from(query + document)));
  compute(call, requestOf(model, prompts), (_, { promptTokens }) => {
    const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens };
    sendJson(call.response, 200, answer({ id: call.requestId, model, usage }));
  });
}

/** The share of the query's words that the document has. */
function relevanceOf({ query, document }: Pair): number {
  const words = wordsOf(query);
  const has = new Set(wordsOf(document));
  return words.length === 0 ? 0 : words.filter((word) => has.has(word)).length / words.length;
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? [];
}

function listOf(given: string | readonly string[]): readonly string[] {
  return typeof given === 'string' ? [given] : given;
}
