import { z } from 'zod';
import { ApiError, parseBody } from '../replica/api-error.ts';
import { type StubReplica, servedName } from '../replica/stub-replica.ts';
import { promptTokenIds } from '../requests/chat-prompt.ts';
import { textOrTokens } from '../requests/read-generation.ts';

/** The most numbers in all vectors of an answer; as JSON they take about 20 bytes each. */
const VALUES_MAX = 4 * 1024 * 1024;
const schema = z.looseObject({
  model: z.string().nullish(),
  input: textOrTokens,
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().positive().max(16_384).nullish(),
});

/** The answer to a request for embeddings: unit vectors that depend only on the input's tokens. */
export function embeddings(raw: unknown, replica: StubReplica, id: string): object {
  const { model, input, encoding_format: format, dimensions } = parseBody(schema, raw);
  const served = servedName(replica, model ?? '');
  const inputs = promptTokenIds(input);
  const length = dimensions ?? replica.options.embeddingDimensions;
  if (inputs.length * length > VALUES_MAX) {
    const asked = `${inputs.length} inputs with ${length} dimensions each`;
    throw new ApiError(400, `${asked} are more than the ${VALUES_MAX} values of an answer`);
  }
  const promptTokens = inputs.reduce((sum, ids) => sum + ids.length, 0);
  return {
    id: `embd-${id}`,
    object: 'list',
    model: served,
    data: inputs.map((ids, index) => {
      const vector = vectorOf(ids, length);
      const embedding =
        format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector];
      return { index, object: 'embedding', embedding };
    }),
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  };
}

/** A unit vector that depends only on the tokens. */
export function vectorOf(ids: Int32Array, dimensions: number): Float32Array {
  let state = 0x811c9dc5;
  for (let index = 0; index < ids.length; index++) {
    state = Math.imul(state ^ (ids[index] as number), 0x01000193);
  }
  const vector = new Float32Array(dimensions);
  let squares = 0;
  for (let index = 0; index < dimensions; index++) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    const value = (state | 0) / 2 ** 31;
    vector[index] = value;
    squares += value * value;
  }
  const length = Math.sqrt(squares);
  return vector.map((value) => value / length);
}
