import { z } from 'zod';
import { PIXEL } from '../answers/chat-image.ts';
import { textOfAnswer } from '../answers/whole-reply.ts';
import { ApiError, parseBody, sendError, sendJson } from '../replica/api-error.ts';
import type { Call } from '../requests/call.ts';
import { placeholdersOf } from '../requests/media.ts';
import { tokenIdsOf } from '../requests/tokenizer.ts';
import { compute, requestOf } from './compute.ts';
import { SPEECH_TYPES, type SpeechFormat, silentSpeech } from './silent-speech.ts';

/** People say about three words of five letters each second. */
const CHARACTERS_PER_SECOND = 15;
const WORDS_MAX = 200;

const imageSchema = z.looseObject({
  model: z.string(),
  prompt: z.string().min(1),
  n: z.int().min(1).max(10).nullish(),
});
const speechSchema = z.looseObject({
  model: z.string(),
  input: z.string().min(1).max(100_000),
  response_format: z.enum(['mp3', 'wav', 'pcm']).nullish(),
});

/** `/v1/images/generations`: images of one pixel, after a prompt of the engine. */
export function generateImages(call: Call): undefined {
  const { model, prompt, n } = parseBody(imageSchema, call.json());
  const request = requestOf(model, [tokenIdsOf(Buffer.from(prompt))], { text: prompt });
  compute(call, request, ({ promptTokens }) => {
    const data = Array.from({ length: n ?? 1 }, () => ({ b64_json: PIXEL }));
    const created = Math.floor(call.replica.clock.wallTime() / 1000);
    const usage = { input_tokens: promptTokens, output_tokens: 1, total_tokens: promptTokens + 1 };
    sendJson(call.response, 200, { created, data, usage });
  });
}

/** `/v1/audio/speech`: silence, as long as the text would take. */
export function speak(call: Call): undefined {
  const { model, input, response_format: format } = parseBody(speechSchema, call.json());
  const request = requestOf(model, [tokenIdsOf(Buffer.from(input))], { text: input });
  compute(call, request, ({ promptTokens, answer }) => {
    const chosen: SpeechFormat = format ?? 'mp3';
    const audio = silentSpeech(input.length / CHARACTERS_PER_SECOND, chosen);
    call.response.writeHead(200, {
      'content-type': SPEECH_TYPES[chosen],
      'content-length': audio.length,
      'x-vllm-omni-input-tokens': promptTokens,
      'x-vllm-omni-output-tokens': answer.tokens,
      'x-vllm-omni-total-tokens': promptTokens + answer.tokens,
    });
    call.response.end(audio);
  });
}

/** `/v1/audio/transcriptions`: made-up text. The form is read after the route has returned. */
export function transcribe(call: Call): undefined {
  // The memory of the body is used again for other requests.
  const body = Buffer.from(call.body);
  const type = call.headers['content-type'] ?? '';
  new Response(body, { headers: { 'content-type': type } })
    .formData()
    .catch(() => {
      throw new ApiError(400, 'the body is no form (multipart/form-data)');
    })
    .then(async (form) => {
      const [model, file] = [form.get('model'), form.get('file')];
      if (typeof model !== 'string') throw new ApiError(400, 'the form has no model', 'model');
      if (!(file instanceof Blob)) throw new ApiError(400, 'the form has no file', 'file');
      const source = Buffer.from(await file.arrayBuffer()).toString('base64');
      const { bytes } = placeholdersOf({ modality: 'audio', source });
      const request = requestOf(model, [tokenIdsOf(bytes)], { tokensMax: WORDS_MAX });
      compute(call, request, ({ answer }) => {
        const text = textOfAnswer(answer).trim();
        if (form.get('response_format') === 'text') call.response.end(text);
        else sendJson(call.response, 200, { text });
      });
    })
    .catch((error: unknown) => sendError(call.response, error, 500));
}
